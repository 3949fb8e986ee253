import { z } from 'zod'
import type { Caller } from '../http/context.ts'
import type { Browser } from './forms.ts'

/** What a browser must bring back from the identity provider: it is kept nowhere but in a cookie of that browser. */
const Journey = z.strictObject({
  state: z.string().min(16).max(128),
  nonce: z.string().min(16).max(128),
  verifier: z.string().min(43).max(128),
  /** The token of the link that it began at. */
  token: z.string().max(256),
})
export type Journey = z.output<typeof Journey>

/** Signs a person in at the identity provider, whichever it is: authorization code with PKCE (RFC 7636). */
export interface BrowserSignIn {
  begin(token: string): Journey
  /** Where the browser goes to sign in. @throws Error if the identity provider does not answer */
  addressOf(journey: Journey): Promise<string>
  /**
   * Who came back, by their access token.
   *
   * @param search the query of the address that the browser came back to
   * @throws SignInRefused if the answer is not one to this journey; Error if the identity provider does not answer
   */
  finish(journey: Journey, search: string): Promise<Caller>
}

/** Its message is for the person. */
export class SignInRefused extends Error {}

/** The path that the identity provider sends browsers back to. */
export const SIGNED_IN_PATH = '/invitations/accept/signed-in'

const SECONDS = 900
const NAME = 'freehold-joining'

export function keepJourney(browser: Browser, journey: Journey): void {
  const text = Buffer.from(JSON.stringify(journey)).toString('base64url')
  browser.setCookie(NAME, text, SECONDS)
}

/** The journey that this browser is on, if any, which is over with that: an answer counts once. */
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
