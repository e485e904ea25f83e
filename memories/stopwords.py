"""Words that say nothing about what a text is about."""

ENGLISH = frozenset(
    """
    a about above after again all also am an and any are aren't as at be because been before being below between both
    but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further
    had hadn't has hasn't have haven't having he he'd he'll he's her here hers herself him himself his how i i'd i'll
    i'm i've if in into is isn't it it's its itself just let's me more most my myself no nor not of off on once only or
    other our ours ourselves out over own same she she'd she'll she's should shouldn't so some such than that that's
    the their theirs them themselves then there there's these they they'd they'll they're they've this those through
    to too under until up very was wasn't we we'd we'll we're we've were weren't what what's when where which while
    who whom why will with won't would wouldn't you you'd you'll you're you've your yours yourself yourselves
    """.split()
)
CHINESE = frozenset(
    """
    的 了 和 是 就 都 而 及 与 著 或 在 有 也 我 你 他 她 它 我们 你们 他们 她们 它们 这 那 这个 那个 这些 那些 这里 那里 什么
    怎么 怎样 如何 哪 哪个 哪些 哪里 谁 吗 呢 吧 啊 呀 哦 嗯 嘛 啦 么 着 过 得 地 很 把 被 给 让 对 从 到 向 为 以 之 其 于 并 但
    但是 因为 所以 如果 虽然 然后 还 还是 又 再 才 只 会 能 可以 要 想 说 一个 一下 一些 请问 請問 這 這個 那個 們 我們 你們
    他們 什麼 怎麼 為 個 對 與 會 還 個 从 將 将
    """.split()
)
