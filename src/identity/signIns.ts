import type { SignedIn } from './accountPage.ts'
import { grantsOf, type StateRecord, type StateStore, sessionIdOf } from './state.ts'

const [SESSION, GRANT] = ['identity-session-', 'identity-grant-']

type Value = { uid?: unknown; loginTs?: unknown; clientId?: unknown; authorizations?: object; iat?: unknown }

const valuesOf = ({ entries }: StateRecord) => Object.values(entries) as Value[]
const grantNames = ({ entries }: StateRecord) => grantsOf(entries.value).map((id) => `${GRANT}${sessionIdOf(id)}`)

/**
 * Returns where a person is signed in: browsers with the programs that used them, and programs on their own, such as
 * those of the device flow.
 * @param here the uid of the current browser's session
 */
export function signInsOf(records: readonly StateRecord[], here: string): SignedIn[] {
  const browsers = records.filter(({ name }) => name.startsWith(SESSION))
  const ofBrowsers = new Set(browsers.flatMap(grantNames))
  const programGrants = records.filter(({ name }) => name.startsWith(GRANT) && !ofBrowsers.has(name))
  return [...browsers, ...programGrants]
    .map((record) => signInOf(record, here))
    .sort((one, other) => Number(other.isHere) - Number(one.isHere) || (other.since ?? 0) - (one.since ?? 0))
}

function signInOf(record: StateRecord, here: string): SignedIn {
  const values = valuesOf(record)
  const numbers = values.flatMap(({ loginTs, iat }) => [loginTs, iat].filter((time) => typeof time === 'number'))
  const clients = values.flatMap(({ clientId, authorizations }) => [
    ...(typeof clientId === 'string' ? [clientId] : []),
    ...Object.keys(authorizations ?? {}),
  ])
  return {
    id: record.name,
    isBrowser: record.name.startsWith(SESSION),
    isHere: values.some(({ uid }) => uid === here),
    programs: [...new Set(clients)].sort(),
    since: numbers.length === 0 ? undefined : Math.min(...numbers),
  }
}

/** Ends a sign-in and the grants issued through it; does nothing if it is not the person's. */
export async function endSignIn(state: StateStore, userId: string, id: string): Promise<void> {
  const record = (await state.listOf(userId)).find(({ name }) => name === id)
  if (record === undefined) return
  for (const name of [...grantNames(record), record.name]) await state.remove(name)
}

/** Ends all sign-ins except the current browser's. */
export async function endOtherSignIns(state: StateStore, userId: string, here: string): Promise<void> {
  for (const { id, isHere } of signInsOf(await state.listOf(userId), here)) {
    if (!isHere) await endSignIn(state, userId, id)
  }
}
