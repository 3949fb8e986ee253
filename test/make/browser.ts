import { createHash, randomBytes } from 'node:crypto'
import { Agent, request } from 'undici'

export type Shown = {
  status: number
  url: string
  /** Of the request that the page answers: a browser that reloads the page sends it again. */
  method: 'GET' | 'POST'
  html: string
  headers: Record<string, string | string[] | undefined>
}

/**
 * A browser without scripts: it keeps cookies by path, follows redirects within the provider, and submits forms by
 * their markup. A redirect to another origin is not followed but stored in `left`.
 */
export class Browser {
  /** The last address outside the provider to which it was redirected. */
  left: URL | undefined
  readonly #agent: Agent
  readonly #origin: string
  readonly #reach: string
  readonly #cookies = new Map<string, { value: string; path: string }>()

  /**
   * @param origin the provider's own address
   * @param reach where it listens, if that is another address
   */
  constructor(origin: string, options: { reach?: string; certificateAuthority?: string } = {}) {
    this.#origin = origin
    this.#reach = options.reach ?? origin
    const { certificateAuthority: ca } = options
    this.#agent = new Agent(ca === undefined ? {} : { connect: { ca } })
  }

  get cookieNames(): string[] {
    return [...this.#cookies.values()].map(({ value }) => value.split('=')[0] ?? '')
  }

  /**
   * Takes the cookies of another browser, as if a page on a neighbouring host had set them for the whole domain.
   * Browsers refuse that for `__Host-` (RFC 6265bis section 4.1.3).
   */
  plantCookiesOf(other: Browser): void {
    for (const [key, cookie] of other.#cookies) if (!key.startsWith('__Host-')) this.#cookies.set(key, cookie)
  }

  open(address: string): Promise<Shown> {
    return this.#go('GET', new URL(address, this.#origin))
  }

  /** Sends the form that holds that button, with its hidden fields and these. */
  submit(shown: Shown, button: string, fields: Record<string, string> = {}): Promise<Shown> {
    const form = formsOf(shown.html).find(({ html }) => html.includes(`>${button}</button>`))
    if (form === undefined) throw new Error(`No form has the button "${button}":\n${shown.html}`)
    const hidden = Object.fromEntries(
      [...form.html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
        name ?? '',
        plainText(value ?? ''),
      ]),
    )
    const pressed = new RegExp(`<button[^>]* name="([^"]+)" value="([^"]+)"[^>]*>${button}</button>`).exec(form.html)
    const own = pressed === null ? {} : { [pressed[1] ?? '']: pressed[2] ?? '' }
    const body = new URLSearchParams({ ...hidden, ...own, ...fields })
    return this.#go('POST', new URL(form.action, shown.url), body.toString())
  }

  close(): Promise<void> {
    return this.#agent.close()
  }

  async #go(method: 'GET' | 'POST', url: URL, body?: string, hops = 0): Promise<Shown> {
    if (url.origin !== this.#origin) {
      this.left = url
      return { status: 0, url: url.href, method, html: '', headers: {} }
    }
    if (hops > 10) throw new Error(`Too many redirects, last to ${url.href}`)
    const cookie = [...this.#cookies.values()]
      .filter(({ path }) => url.pathname.startsWith(path))
      .map(({ value }) => value)
      .join('; ')
    const answer = await request(`${this.#reach}${url.pathname}${url.search}`, {
      dispatcher: this.#agent,
      method,
      headers: {
        accept: 'text/html',
        ...(cookie !== '' && { cookie }),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body !== undefined && { body }),
    })
    const html = await answer.body.text()
    this.#keep(answer.headers['set-cookie'])
    const { location } = answer.headers
    if (typeof location === 'string') return this.#go('GET', new URL(location, url), undefined, hops + 1)
    const shown = { status: answer.statusCode, url: url.href, method, html, headers: answer.headers }
    requireGuard(shown)
    return shown
  }

  #keep(header: string | string[] | undefined): void {
    for (const line of header === undefined ? [] : [header].flat()) {
      const [value = '', ...attributes] = line.split(';').map((part) => part.trim())
      const path = attributes.find((part) => part.toLowerCase().startsWith('path='))?.slice(5) ?? '/'
      const key = `${value.split('=')[0]} ${path}`
      if (/expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(key)
      else this.#cookies.set(key, { value, path })
    }
  }
}

/** Every page that any test opens must have no script and a policy that forbids them. */
function requireGuard({ html, headers, url }: Shown): void {
  if (!String(headers['content-type']).startsWith('text/html')) return
  const policy = String(headers['content-security-policy'])
  const isGuarded = policy.includes("default-src 'none'") && !/script-src|unsafe/.test(policy)
  if (!isGuarded || html.includes('<script')) throw new Error(`The page ${url} may run script: ${policy}\n${html}`)
}

function formsOf(html: string): { action: string; html: string }[] {
  return [...html.matchAll(/<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/g)].map(([, action, inner]) => ({
    action: plainText(action ?? ''),
    html: inner ?? '',
  }))
}

const plainText = (text: string) => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))

/** RFC 7636. */
export function pkcePair(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}
