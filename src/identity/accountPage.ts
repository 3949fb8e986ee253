import { escapeHtml, type Page, page } from '../core/page.ts'

/** A place where a person is signed in. */
export type SignedIn = {
  /** The id by which a form names it. */
  id: string
  isHere: boolean
  isBrowser: boolean
  /** Client ids of the programs that used it. */
  programs: readonly string[]
  /** Seconds since the epoch. */
  since: number | undefined
}

export type OpenInvitation = {
  /** The id by which a form names it. */
  id: string
  boundary: string | undefined
  roleName: string
  invitedBy: string | undefined
}

export type AccountPageData = {
  name: string
  userName: string
  action: string
  signOut: string
  token: string
  signIns: readonly SignedIn[]
  invitations: readonly OpenInvitation[]
  hasPassword: boolean
  /** Minutes for which tokens stay valid after a sign-in has ended. */
  tokenMinutes: number
  error?: string | undefined
  /** Whether `error` is about the password form. */
  isPasswordWrong?: boolean
  done?: string | undefined
}

export function accountPage(words: AccountPageData): Page {
  const { name, signOut, error, done, signIns, tokenMinutes } = words
  const others = signIns.filter(({ isHere }) => !isHere)
  return page(
    'Your account',
    `<p>You are signed in as <strong>${escapeHtml(name)}</strong>.</p>
${done === undefined ? '' : `<p role="status">${escapeHtml(done)}</p>`}
${invitationsList(words)}
${words.hasPassword ? passwordForm(words) : ''}
<h2>Where you are signed in</h2>
<ul>
${signIns.map((signIn) => entry(words, signIn)).join('\n')}
</ul>
${others.length < 2 ? '' : form(words, '<button class="quiet" type="submit" name="choice" value="endOthers">End all others</button>')}
<p class="small">A program whose sign-in was ended may act for up to ${tokenMinutes} more minutes.</p>
<p><a href="${escapeHtml(signOut)}">Sign out</a></p>`,
    { error },
  )
}

function form({ action, token }: AccountPageData, content: string): string {
  return `<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="csrf" value="${escapeHtml(token)}">
${content}
</form>`
}

function invitationsList(words: AccountPageData): string {
  if (words.invitations.length === 0) return ''
  const entries = words.invitations.map(({ id, boundary, roleName, invitedBy }) => {
    const text = `${escapeHtml(invitedBy ?? 'An administrator')} invites you to <strong>${escapeHtml(boundary ?? 'a boundary')}</strong> as ${escapeHtml(roleName)}.`
    const invitation = `${escapeHtml(boundary ?? 'a boundary')} as ${escapeHtml(roleName)}`
    const button = `<button type="submit" name="choice" value="accept" aria-label="Accept: ${invitation}">Accept</button>`
    return `<li>${text}${form(words, `<input type="hidden" name="invitation" value="${escapeHtml(id)}">\n${button}`)}</li>`
  })
  return `<h2>Invitations</h2>\n<ul>\n${entries.join('\n')}\n</ul>`
}

function passwordForm(words: AccountPageData): string {
  const described = words.isPasswordWrong !== true ? '' : ' aria-invalid="true" aria-describedby="problem"'
  return `<h2>Change your password</h2>
${form(
  words,
  `<input type="text" autocomplete="username" value="${escapeHtml(words.userName)}" hidden>
<label for="current">Current password</label>
<input id="current" name="current" type="password" autocomplete="current-password" required maxlength="1024"${described}>
<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required maxlength="1024"${described}>
<button type="submit" name="choice" value="password">Change password</button>`,
)}
<p class="small">All other sign-ins end with it.</p>`
}

function entry(words: AccountPageData, { id, isHere, isBrowser, programs, since }: SignedIn): string {
  const device = isHere ? 'This browser' : isBrowser ? 'A browser' : 'A program'
  const usedBy = programs.length === 0 ? '' : `, used by ${programs.map(escapeHtml).join(', ')}`
  const time =
    since === undefined ? '' : `, since ${new Date(since * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const text = `${device}${usedBy}${time}`
  if (isHere) return `<li>${text}</li>`
  const button = `<button class="quiet" type="submit" name="choice" value="end" aria-label="End this sign-in: ${text}">End this sign-in</button>`
  return `<li>${text}${form(words, `<input type="hidden" name="signIn" value="${escapeHtml(id)}">\n${button}`)}</li>`
}
