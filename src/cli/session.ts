import { type Client, createClient } from '../client/index.ts'
import type { Context, Input, Option } from './command.ts'
import { type Credential, chooseCredential, tokenSource } from './credentials.ts'
import { evaluateTemplate } from './jsonpath.ts'
import { FORMATS, type Format, type NameField, renderRecords } from './output.ts'
import { type Fetch, fetchOf, readSettings, type Settings } from './settings.ts'
import { loginStore } from './storedLogin.ts'
import { tokenIssuer } from './tokens.ts'

export type Session = {
  readonly settings: Settings
  readonly credential: Credential
  readonly client: Client
  readonly token: (rejected?: string) => Promise<string>
}

/** @throws CommandFailure (local) if the client is not set up, (usage) if only one of two variables is set */
export async function openSession(context: Context): Promise<Session> {
  const settings = await readSettings(context.paths.settings)
  const credential = chooseCredential(context.environment)
  const send = await fetchOf(settings)
  const { now, signal } = context
  const fetch: Fetch = (url, init) =>
    send(url, { ...init, signal: init.signal ? AbortSignal.any([init.signal, signal]) : signal })
  const token = tokenSource({
    credential,
    settings,
    issuer: tokenIssuer({ settings, fetch, now }),
    store: loginStore(context.paths.login),
    now,
  })
  return {
    settings,
    credential,
    token,
    client: createClient({ baseUrl: settings.facadeUrl, token, fetch, connectionRetries: 0 }),
  }
}

const JSONPATH = 'jsonpath'

export const OUTPUT: Option = {
  long: 'output',
  short: 'o',
  value: 'FORMAT',
  choices: FORMATS,
  openChoice: JSONPATH,
  check: (text) => {
    if (text.startsWith(`${JSONPATH}=`)) evaluateTemplate(text.slice(JSONPATH.length + 1), undefined)
  },
  summary: 'table on a terminal, else json',
}

/** Whether to render for people: a table, which is the default on a terminal. */
export const isForPeople = (input: Input, { terminal }: Context): boolean =>
  ['table', 'wide'].includes(input.text('output') ?? (terminal.isTerminal ? 'table' : ''))

export function show(value: unknown, input: Input, { terminal }: Context, nameField?: NameField): void {
  const givenFormat = input.text('output')
  if (givenFormat?.startsWith(`${JSONPATH}=`) === true) {
    terminal.out(`${evaluateTemplate(givenFormat.slice(JSONPATH.length + 1), value)}\n`)
    return
  }
  const format = (givenFormat as Format | undefined) ?? (terminal.isTerminal ? 'table' : 'json')
  terminal.out(renderRecords(value, format, nameField))
}

export const SCOPE_OPTIONS: readonly Option[] = [
  { long: 'boundary', short: 'b', value: 'ID', summary: 'The boundary; default: that of `freehold use`' },
  { long: 'group', short: 'g', value: 'NAME', summary: 'The resource group; default: that of `freehold use`' },
]

/** Returns the boundary and group of a command. The default group only applies within the default boundary. */
export function selectedScope(
  input: Input,
  settings: Settings,
): { boundary: string | undefined; group: string | undefined } {
  const boundary = input.text('boundary') ?? settings.boundary
  const group = boundary === settings.boundary ? settings.group : undefined
  return { boundary, group: input.text('group') ?? group }
}
