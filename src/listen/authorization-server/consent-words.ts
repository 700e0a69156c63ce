/** The texts of the consent page in both languages. */

export type Language = 'en' | 'zh';

/** Returns the language that the browser prefers. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.4 */
export function preferredLanguage(header: string | undefined): Language {
  const ranges = (header ?? '').split(',').map((range) => {
    const [tag = '', ...parameters] = range
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    const weight = parameters.find((one) => one.startsWith('q='));
    return { tag, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 };
  });
  const known = ranges.filter(({ tag, weight }) => weight > 0 && /^(?:en|zh)(?:-|$)/.test(tag));
  const [best] = known.sort((a, b) => b.weight - a.weight);
  return best?.tag.startsWith('zh') ? 'zh' : 'en';
}

export interface ConsentWords {
  title: string;
  unnamed: string;
  asks: (client: string) => string;
  documented: (host: string) => string;
  registered: string;
  sendsTo: string;
  profiles: string;
  mainProfile: string;
  limits: string;
  secret: string;
  secretHelp: string;
  allow: string;
  deny: string;
  wrong: string;
  braked: (seconds: number) => string;
  noProfile: string;
  notStored: string;
  doneTitle: string;
  done: (host: string) => string;
  deniedTitle: string;
  denied: (host: string) => string;
  goOn: string;
  failedTitle: string;
  failed: string;
  backTo: (host: string) => string;
  stale: string;
}

export const CONSENT_WORDS: Readonly<Record<Language, ConsentWords>> = {
  en: {
    title: 'Allow access to your MCP servers?',
    unnamed: 'A client without a name',
    asks: (client) => `${client} asks for access to this mcpx gateway.`,
    documented: (host) => `The client is described by ${host}.`,
    registered: 'The client chose this name itself; nobody has checked it.',
    sendsTo: 'Access goes to',
    profiles: 'Profiles',
    mainProfile: 'the default profile',
    limits:
      'The client can do what the token can that you enter, in these profiles only. It cannot change the gateway.',
    secret: 'Token or password',
    secretHelp: 'A token of this gateway, or its password for OAuth. The client does not get it.',
    allow: 'Allow',
    deny: 'Deny',
    wrong: 'This is neither a token nor the password of this gateway.',
    braked: (seconds) => `Too many attempts. Try again in ${seconds} seconds.`,
    noProfile: 'This token may use none of these profiles.',
    notStored: 'The gateway cannot store the permission. Its log has the reason.',
    doneTitle: 'Access allowed',
    done: (host) => `You go on to ${host}.`,
    deniedTitle: 'Access denied',
    denied: (host) => `You go back to ${host}.`,
    goOn: 'Continue',
    failedTitle: 'This request is not valid',
    failed: 'The client sent a request that the gateway cannot accept:',
    backTo: (host) => `Report this to the client at ${host}`,
    stale: 'This page is too old, was used before, or cookies are off. Begin again in the client.',
  },
  zh: {
    title: '允许访问你的 MCP 服务器吗？',
    unnamed: '未命名的客户端',
    asks: (client) => `${client} 请求访问此 mcpx 网关。`,
    documented: (host) => `客户端信息由 ${host} 提供。`,
    registered: '此名称由客户端自行填写，未经核实。',
    sendsTo: '授权将发送至',
    profiles: '配置方案',
    mainProfile: '默认配置方案',
    limits: '客户端只能在这些配置方案内使用你所输入令牌的权限，不能修改网关。',
    secret: '令牌或密码',
    secretHelp: '此网关的任一令牌，或其 OAuth 密码。客户端不会得到它。',
    allow: '允许',
    deny: '拒绝',
    wrong: '输入的内容既不是此网关的令牌，也不是其密码。',
    braked: (seconds) => `尝试次数过多，请在 ${seconds} 秒后重试。`,
    noProfile: '此令牌无权使用这些配置方案中的任何一个。',
    notStored: '网关无法保存授权，原因见网关日志。',
    doneTitle: '已允许访问',
    done: (host) => `正在前往 ${host}。`,
    deniedTitle: '已拒绝访问',
    denied: (host) => `正在返回 ${host}。`,
    goOn: '继续',
    failedTitle: '请求无效',
    failed: '客户端发来的请求无法被网关接受：',
    backTo: (host) => `向 ${host} 的客户端报告此错误`,
    stale: '此页面已过期、已使用过，或浏览器禁用了 Cookie。请在客户端中重新开始。',
  },
};
