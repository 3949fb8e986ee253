import { z } from 'zod'
import type { Caller } from '../http/context.ts'
import type { BrowserRequest } from './forms.ts'

/** The state of one sign-in at the identity provider, stored only in a cookie of the browser. */
const PendingSignIn = z.strictObject({
  state: z.string().min(16).max(128),
  nonce: z.string().min(16).max(128),
  verifier: z.string().min(43).max(128),
  /** The token of the link where the sign-in began. */
  token: z.string().max(256),
})
export type PendingSignIn = z.output<typeof PendingSignIn>

/** Signs a person in at any identity provider, by authorization code with PKCE (RFC 7636). */
export interface BrowserSignIn {
  begin(token: string): PendingSignIn
  /** Returns the address where the browser signs in. @throws Error if the identity provider does not answer */
  addressOf(signIn: PendingSignIn): Promise<string>
  /**
   * Returns the person who came back, as their access token says.
   *
   * @param search the query of the address that the browser came back to
   * @throws SignInRefused if the response belongs to another sign-in; Error if the identity provider does not answer
   */
  finish(signIn: PendingSignIn, search: string): Promise<Caller>
}

/** The message is shown to the person. */
export class SignInRefused extends Error {}

/** The path that the identity provider sends browsers back to. */
export const SIGNED_IN_PATH = '/invitations/accept/signed-in'

const COOKIE_TTL_SECONDS = 900
const COOKIE_NAME = 'freehold-joining'

export function storePendingSignIn(browser: BrowserRequest, signIn: PendingSignIn): void {
  const text = Buffer.from(JSON.stringify(signIn)).toString('base64url')
  browser.setCookie(COOKIE_NAME, text, COOKIE_TTL_SECONDS)
}

/** Returns the browser's pending sign-in, if any, and ends it: a response counts only once. */
export function takePendingSignIn(browser: BrowserRequest): PendingSignIn | undefined {
  const signIn = peekPendingSignIn(browser)
  browser.setCookie(COOKIE_NAME, '', 0)
  return signIn
}

export function peekPendingSignIn(browser: BrowserRequest): PendingSignIn | undefined {
  try {
    const text = Buffer.from(browser.cookie(COOKIE_NAME) ?? '', 'base64url').toString('utf8')
    return PendingSignIn.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
