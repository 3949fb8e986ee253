import express, { type Request, type RequestHandler, type Response } from 'express'
import Negotiator from 'negotiator'
import { messageOf, PlatformError } from '../../core/errors.ts'
import { escapeHtml, type Page, page } from '../../core/page.ts'
import { percentDecoded } from '../../core/percentDecoded.ts'
import { NO_STORE } from '../http/answer.ts'
import type { Services } from '../http/context.ts'
import { pageLimit } from '../http/pageLimit.ts'
import type { Route } from '../http/route.ts'

/** Pages in front of anonymous routes, for people who follow a link of a mail in a browser. */
export type LinkPages = {
  /** The path with `:token`, as the JSON route has it. */
  path: string
  show(services: Services, token: string, browser: BrowserRequest, refused?: RefusedForm): Promise<PageResponse>
  /** Handles the form. On an error, the form is shown again with what was entered. */
  submit(services: Services, token: string, fields: FormFields, browser: BrowserRequest): Promise<PageResponse>
}
/** What was sent, and what was wrong with it. */
export type RefusedForm = { error: string; fields: FormFields }
export type FormFields = (name: string) => string
/** A page, with its status if that is not 200. */
export type PageResponse = Page & { status?: number }
/** The requesting browser: its address, its cookies, and the query of its request. */
export type BrowserRequest = {
  address: string
  search: string
  cookie(name: string): string | undefined
  /** Sent back to this host only, over TLS if the platform has it, and never with a form of another site. */
  setCookie(name: string, value: string, seconds: number): void
}

const REQUESTS_PER_MINUTE = 60
const HEADERS = { ...NO_STORE, 'referrer-policy': 'no-referrer', 'x-frame-options': 'DENY' }

/**
 * Serves the pages to browsers: a GET that prefers HTML to JSON, and the POST of a form. A form is authorized only by
 * the token in its path, so another site cannot submit one in somebody's name; the one cookie that is read, of a
 * sign-in elsewhere, is not sent with forms of other sites. Everything else is passed on to the routes, also a path
 * with a route of its own in place of the token, such as the rules of passwords.
 */
export function linkPages(
  services: Services,
  all: readonly LinkPages[],
  routes: readonly Pick<Route, 'path'>[],
): RequestHandler {
  const routePaths = new Set(routes.map(({ path }) => path))
  const router = express.Router()
  const limit = pageLimit(REQUESTS_PER_MINUTE)
  const form = express.urlencoded({ extended: false, limit: '8kb', parameterLimit: 8 })
  for (const pages of all) {
    const isRoute = (request: Request) => routePaths.has(pages.path.replace(':token', () => tokenOf(request)))
    router.get(pages.path, (request, response, next) => {
      if (isRoute(request) || !prefersPage(request)) next()
      else
        limit(request, response, () => {
          const show = () => pages.show(services, tokenOf(request), browserOf(services, request, response))
          void answer(services, response, 200, show)
        })
    })
    router.post(pages.path, (request, response, next) => {
      if (isRoute(request) || request.is('application/x-www-form-urlencoded') === false) next()
      else
        limit(request, response, () =>
          form(request, response, () => void handleSubmit(services, pages, request, response)),
        )
    })
  }
  // A cheap test first, because nearly every request is for something else.
  const starts = all.map(({ path }) => path.slice(0, path.indexOf(':')))
  return (request, response, next) => {
    const isPage = starts.some((start) => request.url.slice(0, start.length).toLowerCase() === start)
    // Express answers an undecodable path with a page that reveals where the program is installed; the routes say 404.
    if (isPage && percentDecoded(request.path) !== undefined) router(request, response, next)
    else next()
  }
}

function prefersPage(request: Request): boolean {
  return new Negotiator(request).mediaType(['application/json', 'text/html']) === 'text/html'
}

async function handleSubmit(services: Services, pages: LinkPages, request: Request, response: Response): Promise<void> {
  const body = (request.body ?? {}) as Record<string, unknown>
  const fields: FormFields = (name) => (typeof body[name] === 'string' ? body[name] : '')
  const token = tokenOf(request)
  const browser = browserOf(services, request, response)
  try {
    const done = await pages.submit(services, token, fields, browser)
    send(response, done.status ?? 200, done)
  } catch (error) {
    const status = error instanceof PlatformError ? error.status : 500
    if (status >= 500) services.log.error({ error: messageOf(error) }, 'A form could not be taken.')
    const text = status < 500 ? messageOf(error) : 'The platform could not finish this. Try again in a moment.'
    await answer(services, response, status, () => pages.show(services, token, browser, { error: text, fields }))
  }
}

async function answer(
  services: Services,
  response: Response,
  status: number,
  make: () => Promise<PageResponse>,
): Promise<void> {
  try {
    const made = await make()
    send(response, made.status ?? status, made)
  } catch (error) {
    const isKnown = error instanceof PlatformError && error.status < 500
    if (!isKnown) services.log.error({ error: messageOf(error) }, 'A page could not be shown.')
    send(response, isKnown ? error.status : 500, isKnown ? gonePage() : failedPage())
  }
}

const gonePage = () =>
  page(
    'This link cannot be used',
    '<p>It has been used, has expired, or has been replaced by a newer one. Ask whoever sent it for a new one.</p>',
  )
const failedPage = () =>
  page('That did not work', '<p role="alert">The platform could not finish this. Try again in a moment.</p>')

function browserOf({ accounts }: Services, request: Request, response: Response): BrowserRequest {
  const isSecure = accounts.linkBase.startsWith('https:')
  // Browsers accept a cookie with this prefix only from this very host (RFC 6265bis section 4.1.3).
  const prefix = isSecure ? '__Host-' : ''
  return {
    address: request.ip ?? '::',
    search: request.url.split('?')[1] ?? '',
    cookie(name) {
      const all = (request.headers.cookie ?? '').split(/; */)
      return all.find((pair) => pair.startsWith(`${prefix}${name}=`))?.slice(prefix.length + name.length + 1)
    },
    setCookie(name, value, seconds) {
      const options = { httpOnly: true, sameSite: 'lax', secure: isSecure, path: '/', maxAge: seconds * 1000 } as const
      response.cookie(`${prefix}${name}`, value, options)
    },
  }
}

function tokenOf(request: Request): string {
  return String(request.params.token)
}

function send(response: Response, status: number, { html, policy }: Page): void {
  response
    .status(status)
    .set({ ...HEADERS, 'content-security-policy': policy })
    .type('html')
    .send(html)
}

type Input = {
  name: string
  label: string
  type?: string
  autocomplete: string
  longest?: number
  /** A value that cannot be edited. */
  fixed?: string
  /** The id of the element that explains the rules for the value. */
  rules?: string
}

/** Returns a form that posts to the page itself. What was sent is filled in again, except passwords. */
export function renderForm(inputs: readonly Input[], button: string, refused?: RefusedForm): string {
  const fields = inputs.map(({ name, label, type = 'text', autocomplete, longest = 128, fixed, rules }) => {
    const isSecret = type === 'password'
    const value = fixed ?? (isSecret ? '' : refused?.fields(name)) ?? ''
    const bounds = fixed === undefined ? `required maxlength="${longest}"` : 'readonly'
    const described = [refused && isSecret ? 'problem' : [], rules ?? []].flat().join(' ')
    const ariaAttributes = `${refused && isSecret ? ' aria-invalid="true"' : ''}${described === '' ? '' : ` aria-describedby="${described}"`}`
    return `<label for="${name}">${escapeHtml(label)}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" ${bounds} value="${escapeHtml(value)}"${ariaAttributes}${refused && isSecret ? ' autofocus' : ''}>`
  })
  return `<form method="post">
${fields.join('\n')}
<button type="submit">${escapeHtml(button)}</button>
</form>`
}

export const newPassword: Input = {
  name: 'password',
  label: 'New password',
  type: 'password',
  autocomplete: 'new-password',
  rules: 'rules',
}

export function rulesList(rules: readonly string[]): string {
  return `<ul class="small" id="rules">\n${rules.map((rule) => `<li>${escapeHtml(rule)}</li>`).join('\n')}\n</ul>`
}

export function signInLink({ accounts }: Pick<Services, 'accounts'>): string {
  return `<p><a href="${escapeHtml(accounts.signInUrl)}">Sign in</a></p>`
}
