import { randomBytes } from 'node:crypto'
import type { RequestHandler } from 'express'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { sha256 } from '../core/names.ts'
import { isSameText } from '../core/sameText.ts'
import { refusalPage, sendPage } from './shownPages.ts'

/**
 * Binds each sign-in to the browser that began it. The cookies of oidc-provider alone do not: tenants have hosts beside
 * that of the provider, and a page there can set cookies for the domain that they share. Whoever planted the cookies of
 * a sign-in of their own could let somebody else type a password for it. Browsers accept a name with `__Host-` only
 * from this very host (RFC 6265bis section 4.1.3), but such a cookie has no path, so one names the browser, and one for
 * each sign-in must match it.
 */
const BROWSER_COOKIE = '__Host-freehold_browser'
const BEGUN_HERE_COOKIE = 'freehold_begun_here'

const COOKIE = { httpOnly: true, sameSite: 'lax', secure: true, signed: false } as const

/** @param paths the addresses at which the browser goes on with the sign-in */
export function bindToBrowser({ cookies }: Pick<KoaContextWithOIDC, 'cookies'>, uid: string, paths: readonly string[]) {
  const known = cookies.get(BROWSER_COOKIE, { signed: false })
  const browser = known ?? randomBytes(32).toString('base64url')
  if (known === undefined) cookies.set(BROWSER_COOKIE, browser, { ...COOKIE, path: '/' })
  for (const path of paths) cookies.set(BEGUN_HERE_COOKIE, proofOf(browser, uid), { ...COOKIE, path })
}

/** Refuses to go on with a sign-in that another browser began. */
export const requireOwnBrowser: RequestHandler<{ uid: string }> = ({ headers, params }, response, next) => {
  const valuesOf = (name: string) => valuesIn(headers.cookie, name)
  const [browser] = valuesOf(BROWSER_COOKIE)
  const proof = browser === undefined ? undefined : proofOf(browser, params.uid)
  const isOwn = proof !== undefined && valuesOf(BEGUN_HERE_COOKIE).some((value) => isSameText(value, proof))
  if (isOwn) next()
  else sendPage(response, 400, refusalPage('session_not_found'))
}

const proofOf = (browser: string, uid: string) => sha256(`${browser} ${uid}`)

/** All values, because somebody else may have planted further cookies of that name. */
function valuesIn(header: string | undefined, name: string): string[] {
  const pairs = (header ?? '').split(/; */)
  return pairs.flatMap((pair) => (pair.startsWith(`${name}=`) ? [pair.slice(name.length + 1)] : []))
}
