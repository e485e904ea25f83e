"""Build the documentation as a site, in English and in Chinese: `make docs`, or `python docs/site/build.py [FOLDER]`.

What a warning would be is an error: a link or an anchor that leads nowhere, a page without a place in the navigation.
"""

import logging
import sys
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SITE = ROOT / "dist" / "site"
#: The configuration of each language, and where in the site it is.
LANGUAGES = {"en": (ROOT / "mkdocs.yml", ""), "zh-hans": (HERE / "zh-hans.yml", "zh-hans")}


def build_site(folder: Path) -> None:
    """Both languages into `folder`; raises Abort after warnings."""
    for configuration, place in LANGUAGES.values():
        config = load_config(str(configuration), site_dir=str(folder / place), strict=True)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
        config.plugins.on_shutdown()


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SITE
    try:
        build_site(folder)
    except Abort as reason:
        sys.exit(str(reason))
    print(f"The documentation: {folder / 'index.html'}")


if __name__ == "__main__":
    main()
