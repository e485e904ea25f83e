"""Words that stand for one another without changing what is said, in English and Chinese (A10).

Words that differ in number, date, degree, modality or direction are never in one group; what has a second meaning is
listed in pairs, which hold for two words at the same place and no others.
"""

import re

#: Verbs: the forms of regular ones are derived; irregular ones are written base/third/ing/past/participle.
_VERBS = """
    like love enjoy; start begin/begins/beginning/began/begun commence; end finish conclude
    buy/buys/buying/bought/bought purchase; fix repair mend; keep/keeps/keeping/kept/kept store
    speak/speaks/speaking/spoke/spoken talk; leave/leaves/leaving/left/left depart; live reside
    cut/cuts/cutting/cut/cut trim/trims/trimming/trimmed/trimmed; get/gets/getting/got/got receive obtain
    need require; help assist; choose/chooses/choosing/chose/chosen pick select; show display; happen occur
    answer reply respond; watch view; collect gather; build/builds/building/built/built construct
    create make/makes/making/made/made; move relocate; employ hire
    allow permit/permits/permitting/permitted/permitted let/lets/letting/let/let
    try/tries/trying/tried/tried attempt; think/thinks/thinking/thought/thought believe; want wish
    prefer/prefers/preferring/preferred/preferred favor favour; tell/tells/telling/told/told inform
    clean tidy/tidies/tidying/tidied/tidied; discuss debate; use utilize; decide determine; remember recall
    recommend advise suggest; close shut/shuts/shutting/shut/shut; organize arrange
    check verify/verifies/verifying/verified/verified; postpone delay; reach attain
    explain clarify/clarifies/clarifying/clarified/clarified; examine inspect
    teach/teaches/teaching/taught/taught instruct; modify/modifies/modifying/modified/modified change alter
    delete erase remove; handle manage; provide supply/supplies/supplying/supplied/supplied; attach append
    improve enhance; annoy bother; repeat reiterate; protect guard; visit/visits/visiting/visited/visited
    hate/hates/hating/hated/hated dislike; mention note; travel/travels/traveling/traveled/traveled
"""
_NOUNS = """
    child/children kid; mother mom mum mommy/mommies; father dad daddy/daddies; grandmother grandma granny/grannies
    grandfather grandpa granddad; bike bicycle; film movie; photo photograph picture pic; flat apartment
    elevator lift; holiday vacation; sofa couch; doctor physician; lawyer attorney; car automobile; mobile cellphone
    television tv telly/tellies; fridge refrigerator; database db; repository/repositories repo; document doc
    colleague coworker; boss/bosses supervisor; salary/salaries wage; rubbish garbage trash; cellar basement
    gift present; trip journey; plane airplane aeroplane aircraft/aircraft; subway metro; hobby/hobbies pastime
    illness/illnesses disease sickness/sicknesses; mistake error; bug defect; puppy/puppies pup
    kitten kitty/kitties; biscuit cookie; pharmacy/pharmacies drugstore; student pupil; teacher instructor
    exam examination; maths math; gym gymnasium; ad advertisement advert; information info
    password passcode passphrase; configuration config; folder directory/directories; app application
    company/companies firm; friend pal buddy/buddies; truck lorry/lorries; petrol gasoline; rucksack backpack
    parcel package; goal aim objective; autumn fall; phone telephone; colour color; neighbour neighbor
    centre center; theatre theater; programme program; tyre tire; cheque check; traveller traveler
    catalogue catalog; licence license; behaviour behavior; kilometre kilometer; metre meter; litre liter
    job occupation
"""
#: Words of several words are written with a low line.
_OTHERS = """
    big large huge; small little tiny; quick fast rapid swift; quickly rapidly swiftly; short brief concise
    whole entire complete; each every; everybody everyone; somebody someone; nobody no_one; anybody anyone
    smart clever intelligent; happy glad; rich wealthy; ill sick; correct accurate; difficult hard tough
    easy simple; noisy loud; beautiful pretty lovely; often frequently regularly; sometimes occasionally
    usually normally generally typically mostly; rarely seldom; maybe perhaps possibly; likely probably
    nearly almost; approximately roughly circa; also too as_well; until till; toward towards
    under beneath underneath; beside next_to; near nearby close_to; among amongst; such_as like; in_order_to to
    so_as_to to; because as since; because_of due_to owing_to; but however yet; although though even_though
    want_to wants_to would_like_to; many a_lot_of lots_of plenty_of; a_few several a_couple_of
    a_little slightly a_bit; able_to can; all_over around; from_all_over from_around; must have_to need_to
    has_to needs_to; had_to needed_to; take_part_in participate_in; takes_part_in participates_in
    took_part_in participated_in; look_after take_care_of; looks_after takes_care_of; looked_after took_care_of
    all_of all; both_of both; inside_of inside; outside_of outside; off_of off; each_other one_another
    tasty delicious yummy; great fantastic wonderful excellent; terrible awful; weird strange odd
    scared afraid frightened; angry furious; tired exhausted; essential crucial vital important; main primary
    yearly annual; regarding concerning; favourite favorite; grey gray; organise organize; organised organized
    realise realize; realised realized; mid middle; okay ok fine; while whilst; when whenever
    currently presently nowadays at_the_moment right_now these_days at_present; is_fond_of likes; am_fond_of like
    are_fond_of like; not_only not_just; via through
"""
#: The one may stand for the other at the same place.
_PAIRS = """
    to/into in/into in/inside in/within on/onto in/at on/at at/for about/on about/regarding about/approximately
    around/approximately about/around for/during around/across upon/on over/across through/via during/throughout
    of/for with/using beside/by near/by over/above who/that which/that who/which because/as shop/store shops/stores
    sort/kind sorts/kinds may/might called/named have/own has/owns had/owned 让/叫 让/要 让/要求 在/于 对/给 跟/对
    为/做 就/便 才/刚 这/这个 那/那个 给/为 做/当 处/地方 向/对 把/将 去/到 号/日 块/元 点/点钟 用/拿 没/没有
    想/想要 还/仍 听/收听 买/买了 里/中 次/回 会议/例会 学/学习
"""
#: Each group: what may stand for what; the first names the class.
_CHINESE = """
    喜欢 喜歡 喜爱 爱 热爱; 更喜欢 偏爱 偏好; 现在 目前 如今 眼下 当前 现如今; 使用 采用 用 运用; 运行 执行
    常常 经常 时常 常; 所以 因此 因而 于是; 但是 但 可是 不过 然而; 因为 由于; 而且 并且; 如果 要是 假如; 虽然 尽管
    地方 位置; 爸爸 父亲 爸 老爸; 妈妈 母亲 妈 老妈; 孩子 小孩 小孩子 小朋友; 妻子 老婆 太太; 丈夫 老公; 爷爷 祖父
    奶奶 祖母; 外婆 姥姥; 外公 姥爷; 学习 学; 一起 一块 一块儿 一同 共同; 平时 平常 平日; 一般 通常 往往
    每个 每 每一个 每一; 个 名 位; 一个 一名 一位; 大约 大概 约 差不多; 不用 不需要 不必 无需; 只要 只需 只需要
    需要 需; 做 作为; 时候 时 的时候; 特别 尤其 尤其是 特别是; 非常 十分 很 挺 相当 极其; 公司 企业; 朋友 好友
    手机 移动电话; 电脑 计算机; 帮助 帮 帮忙; 购买 买 购入; 出售 卖; 居住 住; 居住在 住在; 搬到 搬去 搬至; 告诉 告知
    保存 储存 存储; 存放 放 放置; 修改 更改; 检查 查看; 寻找 找; 丢失 丢 弄丢; 获得 得到 拿到; 打算 计划 准备
    想要 想; 希望 盼望; 觉得 认为; 知道 晓得; 看 观看; 吃饭 用餐 就餐; 做饭 烧饭 煮饭; 睡觉 入睡; 旅游 旅行
    聊天 闲聊; 讨论 商量 商讨; 礼物 礼品; 汽车 车 车子 轿车; 自行车 单车 脚踏车; 出租车 计程车 的士; 房子 住房
    饭店 餐馆 饭馆 餐厅; 卫生间 厕所 洗手间; 医生 大夫; 老师 教师; 漂亮 美丽 好看; 高兴 开心 快乐; 难过 伤心
    害怕 怕; 有趣 有意思; 简单 容易; 困难 难; 重要 要紧 关键; 迅速 快速; 安静 宁静; 便宜 实惠; 昂贵 贵
    每天 天天 每日; 每周 每星期 每个星期 每个礼拜 每礼拜; 每月 每个月; 星期 周 礼拜; 周一 星期一 礼拜一
    周二 星期二 礼拜二; 周三 星期三 礼拜三; 周四 星期四 礼拜四; 周五 星期五 礼拜五; 周六 星期六 礼拜六
    周日 星期天 星期日 周天 礼拜天 礼拜日; 早上 早晨 清早; 今天 今日; 明天 明日; 昨天 昨日; 外面 外边 外
    上面 上边 上; 下面 下边 下; 前面 前边; 后面 后边; 旁边 边上; 门口 门前; 家里 家中; 其中 当中; 全部 全都
    许多 很多 好多 大量; 一直 始终; 马上 立刻 立即; 忽然 突然; 刚刚 刚 刚才; 曾经 曾; 已经 已; 之后 以后 后
    之前 以前 前; 最近 近来 近期; 终于 总算; 可以 能 能够; 应该 应当; 必须 务必 一定要; 可能 也许 或许; 好像 似乎
    和 跟 与 同 以及 及; 或者 或; 向 朝 往; 从 自; 对 对于; 关于 有关; 按照 按 依照; 除了 除; 直到 到
    这里 这儿 此处; 那里 那儿; 怎么 如何 怎样; 什么 啥; 为什么 为何; 哪里 哪儿; 我们 咱们; 自己 本人; 别人 他人
    大家 各位; 比如 例如 譬如; 然后 接着; 主要 主要是; 位于 处于; 叫 叫做 名叫 叫作 名字叫; 变成 变为 成为
    改成 改为; 参加 参与; 举行 举办 召开; 发送 发; 发给 发送给; 提醒 提示; 密码 口令; 错误 差错; 数据库 库
    选择 选 挑选; 完成 做完; 收集 搜集; 负责 主管; 介绍 讲解; 办公室 办公地点; 下班 收工; 回家 回到家
    每次 每一次 每回; 身边 身旁; 夏天 夏季; 冬天 冬季; 春天 春季; 秋天 秋季; 左边 左侧 左面; 右边 右侧 右面
    住处 住所; 价格 价钱; 费用 花费; 味道 口味; 还是 仍然 仍旧 依然 仍; 赶紧 赶快; 经过 路过; 带着 带; 拿着 拿
    陪 陪伴 陪着; 走路 步行; 生病 得病; 讨厌 厌恶 反感; 答应 同意; 拒绝 回绝
"""


def _regular(base: str) -> list[str]:
    """The third person, the -ing form, the past and the participle of a regular verb."""
    if base.endswith("e"):
        return [f"{base}s", f"{base[:-1]}ing", f"{base}d", f"{base}d"]
    third = f"{base}es" if base.endswith(("s", "x", "ch", "sh", "o")) else f"{base}s"
    return [third, f"{base}ing", f"{base}ed", f"{base}ed"]


def _groups(lines: str) -> list[list[str]]:
    return [group.split() for group in re.split(r"[;\n]", lines) if group.strip()]


def _english() -> dict[str, str]:
    """Each word and the name of what it stands for, with its ending: a past is no present."""
    found: dict[str, str] = {}
    for group in _groups(_VERBS):
        name = group[0].split("/")[0]
        for verb in group:
            forms = verb.split("/") if "/" in verb else [verb, *_regular(verb)]
            for form, ending in zip(forms, ("", "s", "ing", "ed", "ed"), strict=True):
                found.setdefault(form, name + ending)
    for group in _groups(_NOUNS):
        name = group[0].split("/")[0]
        for noun in group:
            singular, _slash, plural = noun.partition("/")
            found.setdefault(singular, name)
            found.setdefault(plural or f"{singular}s", f"{name}s")
    for group in _groups(_OTHERS):
        name = next((word for word in group if "_" not in word), group[0])
        name = found.get(name, name)
        for word in group:
            found.setdefault(word, name)
    return found


ENGLISH = _english()
CHINESE = {word: group[0] for group in reversed(_groups(_CHINESE)) for word in group}
_SAID_AS = ENGLISH | CHINESE
PAIRS = frozenset(frozenset(_SAID_AS.get(word, word) for word in pair.split("/")) for pair in _PAIRS.split())
#: Of how many words the longest word of several words is.
LONGEST = max(word.count("_") + 1 for word in ENGLISH)
