import { currentVersion, entryVersionsOf } from '../../contracts/vaults/history.ts'
import { isAllowedNow } from '../callers/visibility.ts'
import { NO_STORE, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { findEntry, findSecret, missingSecret, refuseUnreadable, type SecretContext, vaultByName } from './find.ts'
import { readValue } from './keys.ts'
import { type EntryRecord, secretDto, versionDto } from './record.ts'

/** Returns the value after checking the attributes of the version. @throws PlatformError as refuseUnreadable */
async function currentValue(context: Context, entry: EntryRecord, version: number): Promise<string> {
  const { services } = context
  refuseUnreadable(entry, version, services.clock.now())
  const value = await readValue(services.vaults, entry, version)
  if (value !== undefined) return value
  // Purged or pruned in the meantime.
  throw missingSecret(entry.spec.vaultName, entry.spec.secretName)
}

export async function readSecret(context: SecretContext) {
  const { vault, entry } = await findSecret(context)
  const value = await currentValue(context, entry, currentVersion(entry.spec))
  const dto = secretDto({ entry, vault, services: context.services }, value)
  return ok(dto, { headers: NO_STORE, etag: etagOf(entry) })
}

export async function readVersion(context: SecretContext) {
  const { entry } = await findSecret(context)
  const version = versionNumber((context.parameters as Record<string, string>).version)
  const value = await currentValue(context, entry, version)
  const record = entryVersionsOf(entry.spec).find((each) => each.version === version)
  if (record === undefined) throw missingSecret(entry.spec.vaultName, entry.spec.secretName)
  return ok(versionDto({ entry, record }, value), { headers: NO_STORE, etag: etagOf(entry) })
}

/** Returns 0, which no version has, for anything that is not a number. */
function versionNumber(text: string | undefined): number {
  return text !== undefined && /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : 0
}

/** Missing and hidden vaults get the same answer, so that the name of a foreign vault reveals nothing. */
export async function readByVaultName(context: Context<'vaultName' | 'name', { version?: number | undefined }>) {
  const { services, caller, parameters } = context
  const { vaultName, name } = parameters
  const found = await vaultByName(services, vaultName)
  const mayRead = async (scope: string) => isAllowedNow(services, caller.principalId, 'secretvault/readSecrets', scope)
  if (found === undefined || !(await mayRead(found.scope))) throw missingSecret(vaultName, name)
  const entry = await findEntry(context, found.vault, name)
  if (entry === undefined) throw missingSecret(vaultName, name)
  const version = context.query.version ?? currentVersion(entry.spec)
  const value = await currentValue(context, entry, version)
  const dto = secretDto({ entry, vault: found.vault, services }, value, version)
  return ok(dto, { headers: NO_STORE, etag: etagOf(entry) })
}
