"""Words a rewording may exchange for one another, words that say nothing, and words it may neither lose nor add."""

import re

#: Each line: what may stand for what; the first word names the class. Verbs with the forms no stemmer knows.
_ENGLISH_CLASSES = """
    like likes liked liking love loves loved loving enjoy enjoys enjoyed enjoying fond
    prefer prefers preferred preference favor favour favors
    have has had having own owns owned owning possess possesses
    live lives lived living reside resides resided residing dwell dwells
    work works worked working employ employed employs job
    call called calls name named names
    begin begins began begun start starts started commence
    end ends ended ending expire expires expired
    stop stops stopped quit quits
    keep keeps kept store stores stored save saved saves
    buy buys bought purchase purchased purchases
    get gets got gotten receive received receives
    give gives gave given
    move moves moved relocate relocated
    learn learns learned learnt learning study studies studied studying
    speak speaks spoke spoken
    drive drives drove driven driving
    write writes wrote written
    take takes took taken
    go goes went gone going
    eat eats ate eaten eating
    run runs ran running
    pay pays paid
    sell sells sold
    meet meets met meeting meetings
    send sends sent
    build builds built
    drink drinks drank drunk drinking
    sing sings sang sung
    swim swims swam swum swimming
    leave leaves left
    make makes made making
    ride rides rode ridden
    sleep sleeps slept
    teach teaches taught
    see sees saw seen
    happen happens occur occurs
    kid kids child children
    mother mothers mom mum
    father fathers dad
    bike bikes bicycle bicycles cycle cycles cycling
    phone phones telephone
    photo photos photograph photographs photography
    film films movie movies
    ram memory
    short brief concise
    quick fast quickly
    big large
    small little
    every each
    database db databases
    repository repo
    dark_mode darkmode
    commute commutes commuted
"""
_CHINESE_CLASSES = {
    "prefer": "更喜欢 更喜歡 更爱 偏好 偏爱 倾向于",
    "like": "喜欢 喜歡 喜爱 热爱 爱好 爱 愛",
    "住": "居住在 居住 定居在 定居 住在",
    "有": "拥有 养了 养着 养 有着 家里有",
    "叫": "名叫 叫做 叫作 名为 取名叫 名字是 名字叫 的名字叫 称为",
    "工作": "就职于 任职于 供职于 就职 任职 上班",
    "用": "使用 采用 用的是 运用",
    "行": "举行 召开 进行 运行 执行",
    "在家": "居家",
    "放": "存放 摆放",
    "存": "保存 保留 留存",
    "号码": "手机号码 电话号码 手机号 电话号",
    "简短": "简洁",
    "每": "每个 每一 每次",
    "骑车": "骑自行车 骑单车 骑脚踏车",
    "车": "汽车 轿车",
    "到期": "期满 为止 截止",
    "写": "编写 写成",
    "起": "开始",
    "学": "学习",
    "妈": "妈妈 母亲",
    "爸": "爸爸 父亲",
    "孩子": "小孩",
    "现在": "目前 如今",
    "一起": "一同",
}
#: What comes and goes without saying anything.
_ENGLISH_LIGHT = """
    called name takes place go going happen happens occurs located situated stand stands lie lies also there especially
    use used as currently about around approximately per day do thing things someone somebody one kind type is s am
    time times well both regularly means due to listen listens set got getting
"""
_CHINESE_LIGHT = """
    的 地 得 了 着 过 是 在 也 都 就 很 和 与 及 并且 而且 并 而 把 所
    其 于 为 以 这 那 个 只 条 位 名 本 台 辆 张 件 次 种 里 家 中
    放 做 要 会 有 来 用 位于 尤其 特别 正在 正 还 又 之 时间 定 常 经常 一个 自己
"""
#: What turns a statement round, weakens it, or says when it holds: of each class a rewording has what its sources have.
_ENGLISH_CAREFUL = """
    before; after; until till; since; except; only; unless; above; below under beneath; over; always
    sometimes occasionally; often frequently usually mostly; rarely seldom; more; less; most; least
    last; next; previous previously; former formerly; again
    may might maybe perhaps possibly probably likely; could
    should must want wants wanted wish wishes hope hopes hoping
    plan plans planned planning intend intends intended will; consider considers considering thinking
    if; because; instead; almost nearly; try tried tries; allowed allow allows
"""
_CHINESE_CAREFUL = """
    之前 以前 前; 之后 以后 后; 直到; 除了; 只 仅 仅仅; 除非; 总是 一直; 有时 偶尔
    经常 通常 常; 很少; 更; 最; 上次; 下次; 曾经 曾; 可能 也许 或许 大概
    应该 必须; 想要 想 希望 愿意; 打算 计划 准备 将要 即将; 考虑; 如果; 因为
    几乎 差点; 左; 右; 所有 全部; 允许; 试图 尝试
"""
_CHINESE_NEGATIONS = (
    "不(?![过過仅僅但同])|没|沒|无(?![论线])|無(?![論線])|未(?!来)|(?<!特)别(?![人的墅])|莫|勿|非(?!常)"
)
_ENGLISH_NEGATIONS = "no not never none nobody nothing nowhere neither nor without hardly"


def _classes(lines: str) -> dict[str, str]:
    return {
        word: line.split()[0] for line in lines.replace(";", "\n").splitlines() if line.strip() for word in line.split()
    }


ENGLISH = _classes(_ENGLISH_CLASSES)
ENGLISH_LIGHT = frozenset(_ENGLISH_LIGHT.split())
ENGLISH_CAREFUL = {word: f"~{name}" for word, name in _classes(_ENGLISH_CAREFUL).items()}
ENGLISH_NEGATIONS = frozenset(_ENGLISH_NEGATIONS.split())
CHINESE = {word: name for name, words in _CHINESE_CLASSES.items() for word in words.split()}
CHINESE_LIGHT = frozenset(_CHINESE_LIGHT.split())
CHINESE_CAREFUL = {word: f"~{name}" for word, name in _classes(_CHINESE_CAREFUL).items()}
_KNOWN = sorted({*CHINESE, *CHINESE_CAREFUL, *(word for word in CHINESE_LIGHT if len(word) > 1)}, key=len, reverse=True)
CHINESE_PARTS = re.compile(f"(?P<negation>{_CHINESE_NEGATIONS})|(?P<known>{'|'.join(_KNOWN)})|(?P<other>.)", re.DOTALL)
