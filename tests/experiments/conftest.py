"""What these tests import takes seconds, so they are not even collected where deselected."""


def pytest_ignore_collect(config):
    return True if "not bench" in config.option.markexpr else None
