import { z } from 'zod'
import type { Caller } from '../http/context.ts'
import type { Browser } from './forms.ts'

/** The state of one sign-in at the identity provider, stored only in a cookie of the browser. */
const Journey = z.strictObject({
  state: z.string().min(16).max(128),
  nonce: z.string().min(16).max(128),
  verifier: z.string().min(43).max(128),
  /** The token of the link where the sign-in began. */
  token: z.string().max(256),
})
export type Journey = z.output<typeof Journey>

/** Signs a person in at any identity provider, by authorization code with PKCE (RFC 7636). */
export interface BrowserSignIn {
  begin(token: string): Journey
  /** Returns the address where the browser signs in. @throws Error if the identity provider does not answer */
  addressOf(journey: Journey): Promise<string>
  /**
   * Returns the person who came back, as their access token says.
   *
   * @param search the query of the address that the browser came back to
   * @throws SignInRefused if the response belongs to another journey; Error if the identity provider does not answer
   */
  finish(journey: Journey, search: string): Promise<Caller>
}

/** The message is shown to the person. */
export class SignInRefused extends Error {}

/** The path that the identity provider sends browsers back to. */
export const SIGNED_IN_PATH = '/invitations/accept/signed-in'

const SECONDS = 900
const NAME = 'freehold-joining'

export function keepJourney(browser: Browser, journey: Journey): void {
  const text = Buffer.from(JSON.stringify(journey)).toString('base64url')
  browser.setCookie(NAME, text, SECONDS)
}

/** Returns the browser's journey, if any, and ends it: a response counts only once. */
export function takeJourney(browser: Browser): Journey | undefined {
  const journey = peekJourney(browser)
  browser.setCookie(NAME, '', 0)
  return journey
}

export function peekJourney(browser: Browser): Journey | undefined {
  try {
    const text = Buffer.from(browser.cookie(NAME) ?? '', 'base64url').toString('utf8')
    return Journey.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
