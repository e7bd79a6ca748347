"""Guards docs/scale.md: its arithmetic is that of the script, which can also measure."""

from pathlib import Path

from tests.scale_table import Size, measure

PAGE = (Path(__file__).parents[1] / "docs" / "scale.md").read_text()


def test_the_page_has_the_numbers_of_the_script():
    found = Size(10**7, processes=16).needs()
    large = Size(10**7, processes=16, batch_queries=1024).needs()
    gigabytes = {
        "features on disk": "653 GB",
        "features a process reads in an epoch": "40.8 GB",
        "document ids on disk": "48 GB",
        "labels in memory": "9.6 GB",
        "impressions and clicks in the first process": "192 GB",
        "rewards and exposure in the first process": "38.4 GB",
        "rewards and exposure in another": "2.4 GB",
        "sent by a process in an epoch": "74.9 GB",
    }
    for name, text in gigabytes.items():
        assert f"{found[f'{name}, bytes'] / 1e9:.3g} GB" == text
        assert text in PAGE
    for text in (
        f"{found['parameters']:,} parameters",
        f"{found['gradient, bytes'] / 1e3:.0f} kB",
        f"{found['steps of an epoch']:,}",
        f"{large['steps of an epoch']:,} steps, "
        f"{large['sent by a process in an epoch, bytes'] / 1e9:.3g} GB",
    ):
        assert text in PAGE, text


def test_a_small_training_can_be_measured():
    found = measure(Size(6, documents=5, features=4, top_k=3, batch_queries=4), epochs=2)
    assert found["processes"] == 1
    assert found["bytes summed a step"] == 0
    assert found["seconds a step, best epoch"] > 0
