import { escapeHtml, type Page, page, redirectPage } from '../core/page.ts'

export type { Page } from '../core/page.ts'

export type SignInPageData = {
  action: string
  token: string
  clientName: string
  login: string
  error?: string
  targets: readonly string[]
  /** Whether some tenants have their own identity provider. */
  hasOrganizations?: boolean
}

export function signInPage({
  action,
  token,
  clientName,
  login,
  error,
  targets,
  hasOrganizations,
}: SignInPageData): Page {
  // Submits the address alone, because people with an external provider have no password here.
  const organization =
    hasOrganizations === true
      ? '\n<button class="quiet" type="submit" name="choice" value="organization" formnovalidate>Sign in through your organization</button>'
      : ''
  // Focuses the first empty field: the password if the name is known.
  const focus = (here: boolean) => (here ? ' autofocus' : '')
  const described = error === undefined ? '' : ' aria-invalid="true" aria-describedby="problem"'
  return page(
    'Sign in',
    `<p>to continue to ${escapeHtml(clientName)}</p>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="csrf" value="${escapeHtml(token)}">
<label for="login">User name or e-mail</label>
<input id="login" name="login" type="text" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="254" value="${escapeHtml(login)}"${described}${focus(login === '')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="128"${described}${focus(login !== '')}>
<button type="submit" name="choice" value="signIn">Sign in</button>${organization}
</form>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="csrf" value="${escapeHtml(token)}">
<button class="quiet" type="submit" name="choice" value="cancel">Cancel</button>
</form>`,
    { targets, error },
  )
}

/**
 * Leads to the identity provider of a tenant. A separate page, because a browser follows redirects of a form only to
 * origins in the Content-Security-Policy of its page, and we do not know where that provider redirects next.
 */
export function organizationPage({ url, displayName }: { url: string; displayName: string }): Page {
  return redirectPage(url, 'Continue elsewhere', `<p>You sign in at <strong>${escapeHtml(displayName)}</strong>.</p>`)
}

export type ConsentPageData = {
  action: string
  token: string
  clientName: string
  name: string
  targets: readonly string[]
}

/** Asks people who are already signed in, because any program on the machine could have opened this URL. */
export function consentPage({ action, token, clientName, name, targets }: ConsentPageData): Page {
  return page(
    'Continue?',
    `<p><strong>${escapeHtml(clientName)}</strong> on this computer wants to act as <strong>${escapeHtml(name)}</strong>. Continue only if you have just started it.</p>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="csrf" value="${escapeHtml(token)}">
<button type="submit" name="choice" value="continue" autofocus>Continue</button>
<button class="quiet" type="submit" name="choice" value="cancel">Cancel</button>
</form>`,
    { targets },
  )
}

export function deviceCodePage(action: string, token: string, error?: string): Page {
  const described = error === undefined ? '' : ' aria-invalid="true" aria-describedby="problem"'
  return page(
    'Connect a device',
    `<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="xsrf" value="${escapeHtml(token)}">
<label for="code">Code that the device shows</label>
<input id="code" class="code" name="user_code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20"${described} autofocus>
<button type="submit">Continue</button>
</form>`,
    { error },
  )
}

export type DevicePageData = { action: string; token: string; clientName: string; code: string }

export function deviceConfirmPage({ action, token, clientName, code }: DevicePageData): Page {
  return page(
    'Is this your device?',
    `<p><strong>${escapeHtml(clientName)}</strong> wants to act in your name. Its screen shows this code:</p>
<p><code class="code">${escapeHtml(code)}</code></p>
<p>Do not continue if somebody sent you this code.</p>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="xsrf" value="${escapeHtml(token)}">
<input type="hidden" name="user_code" value="${escapeHtml(code)}">
<button type="submit" name="confirm" value="yes">Yes, connect it</button>
<button class="quiet" type="submit" name="abort" value="yes">No, refuse it</button>
</form>`,
  )
}

export function deviceDonePage(): Page {
  return page('Connected', '<p>The device continues by itself. You can close this window.</p>')
}

export function signOutPage(action: string, token: string, targets: readonly string[]): Page {
  return page(
    'Sign out?',
    `<p>This ends your session here and in every program that signed in through it.</p>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="xsrf" value="${escapeHtml(token)}">
<button type="submit" name="logout" value="yes" autofocus>Sign out</button>
</form>`,
    { targets },
  )
}

export function signedOutPage(): Page {
  return page('Signed out', '<p>Your session has ended. You can close this window.</p>')
}

export function errorPage(message: string, code: string): Page {
  return page(
    'That did not work',
    `<p role="alert">${escapeHtml(message)}</p>
<p>Start again from the program that sent you here.</p>
<p class="small">${escapeHtml(code)}</p>`,
  )
}

const FORM_ACTION = /<form method="post" action="([^"]*)">/
const HIDDEN_INPUT = /<input type="hidden" name="[A-Za-z0-9_.-]+" value="[^"]*"\/>/g

/** The title and text of forms that oidc-provider would submit automatically, by route. */
const MANUAL_FORMS: Readonly<Record<string, readonly [title: string, words: string]>> = {
  code_verification: ['Connect a device', 'A device wants to act in your name. Its code comes next: compare it.'],
  end_session: ['Sign out?', 'Nobody is signed in in this browser.'],
}

/**
 * Replaces a page of oidc-provider that submits its form by script with one that has a button. Attributes are already
 * escaped by oidc-provider and are copied as they are.
 */
export function withoutScript(html: string, targets: readonly string[], route = ''): Page | undefined {
  const action = FORM_ACTION.exec(html)?.[1]
  if (action === undefined) return undefined
  const inputs = html.match(HIDDEN_INPUT) ?? []
  const [title, words] = MANUAL_FORMS[route] ?? ['Continue', 'The program that sent you here continues.']
  return page(
    title,
    `<p>${words}</p>
<form method="post" action="${action}">
${inputs.join('\n')}
<button type="submit" autofocus>Continue</button>
</form>`,
    { targets },
  )
}
