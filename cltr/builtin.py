"""What the core registers, through the same hooks as everybody else."""

from typing import Any

from cltr.hookspecs import hookimpl


@hookimpl
def cltr_click_models() -> list[type[Any]]:
    from cltr.clicks.models import Adversarial, PositionBased, TrustBias

    return [TrustBias, PositionBased, Adversarial]


@hookimpl
def cltr_rewards() -> list[type[Any]]:
    from cltr.objectives.rewards import Labels, Naive

    return [Naive, Labels]


@hookimpl
def cltr_estimators() -> list[type[Any]]:
    from cltr.objectives.band import Band
    from cltr.objectives.budget import Budget
    from cltr.objectives.plain import Plain
    from cltr.objectives.prpo import PRPO

    return [Plain, PRPO, Band, Budget]


@hookimpl
def cltr_rankers() -> list[type[Any]]:
    from cltr.training.exact_ranker import Exact
    from cltr.training.optimum_ranker import Optimum

    return [Exact, Optimum]


@hookimpl
def cltr_scorers() -> list[type[Any]]:
    from cltr.training.scorers import Linear, Mlp, TableScorer

    return [Mlp, Linear, TableScorer]


@hookimpl
def cltr_log_readers() -> list[type[Any]]:
    from cltr.logs.event_reader import EventReader
    from cltr.logs.ga4_format import Ga4Reader
    from cltr.logs.list_reader import ListReader
    from cltr.logs.portable.counts_reader import CountsReader
    from cltr.logs.published_formats import OpenBanditReader, UbiReader
    from cltr.logs.readers import LongReader
    from cltr.logs.served_format import ServedReader

    return [
        LongReader,
        ListReader,
        EventReader,
        UbiReader,
        Ga4Reader,
        OpenBanditReader,
        ServedReader,
        CountsReader,
    ]


@hookimpl
def cltr_metrics() -> list[type[Any]]:
    from cltr.evaluation.further_metrics import ExpectedReciprocalRank, RankBiasedPrecision

    return [ExpectedReciprocalRank, RankBiasedPrecision]


@hookimpl
def cltr_exporters() -> list[type[Any]]:
    from cltr.exporters.json_format import JsonExporter
    from cltr.exporters.onnx_format import OnnxExporter
    from cltr.exporters.opensearch_format import OpenSearchExporter
    from cltr.exporters.solr_format import SolrExporter

    return [JsonExporter, OnnxExporter, SolrExporter, OpenSearchExporter]


@hookimpl
def cltr_data_layouts() -> list[type[Any]]:
    from cltr.data.well_known import Istella, IstellaS, Letor4, Mslr10k, Mslr30k, Yahoo

    return [Mslr10k, Mslr30k, Yahoo, Istella, IstellaS, Letor4]


@hookimpl
def cltr_findings() -> list[type[Any]]:
    from cltr.checks.leakage import Leakage

    return [Leakage]
