/** Stop words, which are ignored in a question. Data only. */

export const STOP_ENGLISH =
  'a an the this that these those it its they them their there here i me my mine myself we us our you your he him his she her one ones some somebody someone something somewhere any anybody anyone anything else other another such same and or but if then than so as of in on at to from by for with without about into onto over under through between during per via up down out off is are was were be been being am do does did done doing has have had having can could may might must shall should will would need needs want wants please let lets help how what which who whom whose when where why whether not no yes just only also too very much more most less least still already again ever never now then way thing things stuff bit lot kind sort using use used says said say ask asks gets got goes went come comes came take takes took like looks look tool tools named';

export const STOP_CHINESE =
  '的 了 吗 呢 吧 啊 呀 嘛 么 着 过 地 得 之 把 被 给 让 叫 将 在 于 从 到 往 向 对 对于 关于 和 与 跟 及 或 或者 以及 并 而 但 但是 因为 所以 如果 就 才 也 都 还 又 再 很 太 更 最 不 没 没有 别 是 有 会 能 可以 可 要 想 想要 需要 应该 请 请问 帮 帮我 帮忙 我 我们 你 你们 您 他 她 它 他们 自己 这 那 这个 那个 这些 那些 这里 那里 某 某个 每 各 个 一 一个 一下 一些 一点 一种 一条 一封 一张 一份 两 几 条 张 封 份 次 里 里面 上 中 下 内 外 前 后 来 去 出 起 什么 怎么 怎样 如何 哪 哪些 哪个 哪里 谁 多少 几 吧 时 时候 用 使用 带 做 弄 搞 进行 相关 名字';

/** Acts so general that their object is more significant. */
export const GENERAL_ACTS =
  'create add new make get show list all find search look open start run set put take give turn write read change update keep store save view see ask try send check every everything many several first last latest recent data';
