"""The serving rule: time a document, beside sorting the same scores without any chance."""

import numpy as np

from cltr.serving import ServingRule, sort_ranking

REQUESTS, DOCUMENTS = 200, 50


def bench_serving(contest):
    rng = np.random.default_rng(0)
    names = [f"document-{number}" for number in range(DOCUMENTS)]
    scores = [
        dict(zip(names, row, strict=True))
        for row in rng.normal(size=(REQUESTS, DOCUMENTS)).tolist()
    ]
    rule = ServingRule(share=1.0, top_k=10)

    def serve():
        for number, one in enumerate(scores):
            rule.serve(f"request-{number}", "query", new=one, production=one)

    def sort():
        for one in scores:
            sort_ranking(one, top_k=10)

    work = f"a document, of {DOCUMENTS} a request, 10 shown"
    contest("serve a request", serve, work=work, per=REQUESTS * DOCUMENTS, sorted_only=sort)
