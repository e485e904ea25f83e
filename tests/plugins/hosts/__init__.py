"""The programs our plugins are for."""

from tests.plugins.host import Host
from tests.plugins.hosts.astrbot import AstrBot
from tests.plugins.hosts.koishi import Koishi
from tests.plugins.hosts.langbot import LangBot
from tests.plugins.hosts.nonebot import NoneBot
from tests.plugins.hosts.openclaw import OpenClaw

HOSTS: tuple[Host, ...] = (NoneBot(), AstrBot(), OpenClaw(), Koishi(), LangBot())
