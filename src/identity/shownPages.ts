import { createHmac } from 'node:crypto'
import type { Request, Response } from 'express'
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { isOutage } from './outage.ts'
import {
  deviceCodePage,
  deviceConfirmPage,
  deviceDonePage,
  errorPage,
  type Page,
  signedOutPage,
  signOutPage,
  withoutScript,
} from './pages.ts'

export const PAGE_HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

function show(context: KoaContextWithOIDC, { html, policy }: Page): void {
  context.type = 'html'
  context.body = html
  context.set('content-security-policy', policy)
}

/** The secret that oidc-provider compares with the form field `xsrf`. */
function xsrfOf(context: KoaContextWithOIDC): string {
  const secret = context.oidc.session?.state?.secret
  return typeof secret === 'string' ? secret : ''
}

/** Returns the origins to which redirects after a form may lead, from the addresses in the request. */
export function targetsOf(...addresses: unknown[]): string[] {
  return addresses.flatMap((address) => {
    const url = typeof address === 'string' ? URL.parse(address) : null
    return url !== null && url.origin !== 'null' ? [url.origin] : []
  })
}

/** Shows a sentence and the error code. The cause of a server error is not shown. */
export function renderError(context: KoaContextWithOIDC, { error, error_description: detail }: ErrorOut): void {
  const isServerError = error === 'server_error'
  const sentence = isServerError
    ? 'The platform could not finish this. Try again in a moment.'
    : `The request is not valid: ${detail ?? error}.`
  show(context, errorPage(SENTENCES[error] ?? sentence, error))
}

/** Shows an OAuth error to a person. Anybody can create such a link, so only known codes are shown. */
export function refusalPage(error: string): Page {
  const isKnown = Object.hasOwn(SENTENCES, error)
  return errorPage((isKnown && SENTENCES[error]) || 'The request is not valid.', isKnown ? error : 'invalid_request')
}

const SENTENCES: Record<string, string> = {
  session_not_found: 'This sign-in has expired, or was started in another browser.',
  access_denied: 'The sign-in was cancelled.',
  temporarily_unavailable: 'Too many attempts. Wait a moment.',
}

const CODE_PROBLEMS: Record<string, string> = {
  NoCodeError: 'Type the code.',
  NotFoundError: 'Unknown code. Compare it with the one on the device.',
  ExpiredError: 'This code has expired. Ask the device for a new one.',
  AlreadyUsedError: 'This code was used before. Ask the device for a new one.',
  AbortedError: 'The device was refused. There is nothing else to do.',
}

/** Device flow (RFC 8628): eight letters without vowels, so that no words appear. A code can be used once. */
export const deviceSettings = {
  enabled: true,
  charset: 'base-20' as const,
  mask: '****-****',
  deviceInfo: () => ({}),
  userCodeInputSource(context: KoaContextWithOIDC, _form: string, out?: ErrorOut, error?: Error): void {
    const problem =
      out && (CODE_PROBLEMS[error?.name ?? ''] ?? SENTENCES[out.error] ?? 'This did not work. Type the code again.')
    show(context, deviceCodePage(context.oidc.urlFor('code_verification'), xsrfOf(context), problem))
  },
  userCodeConfirmSource(
    context: KoaContextWithOIDC,
    _form: string,
    client: { clientId: string; clientName?: string | undefined },
    _deviceInfo: unknown,
    code: string,
  ): void {
    const action = context.oidc.urlFor('code_verification')
    show(
      context,
      deviceConfirmPage({ action, token: xsrfOf(context), clientName: client.clientName ?? client.clientId, code }),
    )
  },
  successSource(context: KoaContextWithOIDC): void {
    show(context, deviceDonePage())
  },
}

/** RP-initiated logout with confirmation: otherwise any page could sign a person out. */
export const logoutSettings = {
  enabled: true,
  logoutSource(context: KoaContextWithOIDC): void {
    const targets = targetsOf(context.oidc.params?.post_logout_redirect_uri)
    show(context, signOutPage(context.oidc.urlFor('end_session_confirm'), xsrfOf(context), targets))
  },
  postLogoutSuccessSource(context: KoaContextWithOIDC): void {
    show(context, signedOutPage())
  },
}

/** Sends every page, including those of oidc-provider, with our headers and without script. */
export async function guardPages(context: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> {
  try {
    await next()
  } catch (error) {
    // For a browser without a stored session, oidc-provider throws instead of showing the device form again.
    const { route, session } = context.oidc ?? {}
    const isNew = (session as { new?: boolean } | undefined)?.new === true
    if (route !== 'code_verification' || !isNew || context.method !== 'POST') throw error
    context.redirect(context.oidc.urlFor('code_verification'))
  }
  if (context.response.is('html') === false || typeof context.body !== 'string') return
  for (const [header, value] of Object.entries(PAGE_HEADERS)) context.set(header, value)
  // Koa returns undefined for an absent header, although its types say string.
  if (context.response.get('content-security-policy')) return
  const { route, params } = context.oidc ?? {}
  const plain = withoutScript(context.body, targetsOf(params?.post_logout_redirect_uri), route)
  show(context, plain ?? errorPage('The platform could not finish this.', 'server_error'))
}

export function sendPage(response: Response, status: number, { html, policy }: Page): void {
  response
    .status(status)
    .set({ ...PAGE_HEADERS, 'content-security-policy': policy })
    .type('html')
    .send(html)
}

/** Shows that a request failed on our side; what failed is for the log. */
export function sendFailure(response: Response, error: unknown): void {
  const page = errorPage('The platform could not finish this. Try again in a moment.', 'server_error')
  if (response.headersSent) response.end()
  else sendPage(response, isOutage(error) ? 503 : 500, page)
}

/** Returns a token that only a page which was sent for this sign-in or session knows: no other site can read it. */
export function formToken({ formKey }: { readonly formKey: () => string }, purpose: string): string {
  return createHmac('sha256', formKey()).update(purpose).digest('base64url')
}

export const queryOf = ({ url }: Pick<Request, 'url'>) => new URLSearchParams(url.split('?')[1] ?? '')
