"""The columns of a table, asked for by what they mean."""

from collections.abc import Collection, Mapping

from cltr.errors import DataError
from cltr.options import Options, did_you_mean

NONE = "none"
"""What to say instead of a column's name where there is none."""
KNOWN = {
    "query": ("query", "query_id", "qid"),
    "document": ("document", "document_id", "doc", "doc_id", "docid", "item", "item_id", "url"),
    "position": ("position", "rank"),
    "click": ("click", "clicked", "clicks"),
    "score": ("score",),
    "session": ("session", "session_id", "interaction", "interaction_id", "search_id", "serp_id"),
    "documents": ("documents", "docs", "document_ids", "items", "results"),
    "clicks": ("clicks", "clicked", "click"),
    "label": ("label", "labels", "grade", "relevance", "rel", "judgement", "judgment"),
    "split": ("split",),
    "arm": ("arm",),
    "team": ("team",),
    "share": ("share",),
    "request": ("request", "request_id", "session", "session_id"),
}
"""Common names of columns, by what they mean."""
FURTHER = {
    "query": ("query_text", "search_query", "search_term", "search_terms", "term", "keywords"),
    "document": ("sku", "product", "product_id", "asin", "listing_id", "article_id", "result_id"),
    "position": ("slot", "pos", "result_position", "display_position", "result_rank"),
    "click": ("is_click", "is_clicked", "was_clicked", "has_click"),
    "score": ("production_score", "model_score", "ranker_score", "ranking_score"),
    "session": ("request", "request_id", "search_request_id", "visit_id"),
}
"""Less common names, which count only where a table has none of the common ones."""
MOST_NAMES = 20
"""Columns that a message names."""


class TableColumns:
    """The columns of a table: those that the options name, or those with a common name."""

    def __init__(
        self, columns: Mapping[str, str], options: Options, *, where: str, flags: bool = True
    ) -> None:
        """Columns of one table.

        Args:
            columns: their types by name.
            options: says which column has which role, in fields such as ``query_column``.
            where: what messages call the table.
            flags: whether the user can name columns of this table with flags.
        """
        self.types = columns
        self._options, self._where = options, where
        self._flags = flags

    def find(self, role: str, *, required: bool = True) -> str | None:
        """The column for a role: the one that was named, or the one with a common name."""
        given = getattr(self._options, f"{role}_column")
        if isinstance(given, tuple):
            given = given[0] if given else ""
        flag = f"--{role}-column"
        if given == NONE and not required:
            return None
        if given:
            return self.named(given, flag)
        found = self.named_like(role)
        if len(found) == 1:
            return found[0]
        raise DataError(
            f"{self._where}: which column is the {role}? {self._unclear(role, found)}; "
            + self._advice(role, required=required)
        )

    def _unclear(self, role: str, found: list[str]) -> str:
        """Why no column was chosen."""
        if found:
            return f"{' and '.join(found)} could be it"
        names = ", ".join((*KNOWN.get(role, ()), *FURTHER.get(role, ())))
        return f"no column has a name that cltr knows ({names}); there are {self._listed()}"

    def _advice(self, role: str, *, required: bool) -> str:
        flag = f"--{role}-column"
        if not self._flags:
            return f"rename the column to '{KNOWN[role][0]}'"
        return f"name it with {flag}" + ("" if required else f", or say {flag} {NONE}")

    def _listed(self) -> str:
        """Names of the columns, the first few of many."""
        first, more = [*self.types][:MOST_NAMES], len(self.types) - MOST_NAMES
        return ", ".join(first) + (f" and {more} more" if more > 0 else "")

    def known(self, role: str) -> list[str]:
        """Columns with a common name for a role."""
        return self._with_name(KNOWN.get(role, ()))

    def named_like(self, role: str) -> list[str]:
        """Columns with a common name for a role; if there is none, those with a less common one."""
        return self.known(role) or self._with_name(FURTHER.get(role, ()))

    def _with_name(self, names: Collection[str]) -> list[str]:
        return [name for name in self.types if name.lower() in names]

    def named(self, name: str, flag: str) -> str:
        """A column that must be there."""
        if name not in self.types:
            raise DataError(
                f"{self._where}: has no column '{name}' ({flag}); it has {self._listed()}"
                + did_you_mean(name, self.types)
            )
        return name
