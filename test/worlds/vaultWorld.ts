import { randomBytes } from 'node:crypto'
import { entryName } from '../../src/contracts/vaults/names.ts'
import { expectCall, type GroupPlace, makeGroupPlace, uniqueName, until } from './platform.ts'

export type SecretBody = {
  name: string
  value: string | null
  version: number
  enabled: boolean
  contentType: string | null
  tags: Record<string, string>
  updatedBy: string | null
  isDeleted: boolean
  deletedAt: string | null
  purgeAt: string | null
  vaultName: string
  uri: string
}

/** A vault for one test, ready, and the paths of its parts. */
export type VaultPlace = {
  boundaryId: string
  group: string
  namespace: string
  vault: string
  /** Of the vault. */
  path: string
  scope: string
  secret: (name: string) => string
  entry: (name: string) => string
}

export async function makeVault(
  body: object = {},
  given?: Pick<GroupPlace, 'boundaryId' | 'group' | 'namespace'>,
): Promise<VaultPlace> {
  const { boundaryId, group, namespace } = given ?? (await makeGroupPlace())
  const vault = uniqueName('vault')
  const scope = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/secretvaults/${vault}`
  await expectCall(201, 'POST', scope, body)
  await until(`vault ${vault} runs`, async () => {
    const { body: found } = await expectCall<{ status: string }>(200, 'GET', scope)
    return found.status === 'Running'
  })
  return {
    boundaryId,
    group,
    namespace,
    vault,
    path: scope,
    scope,
    secret: (name) => `${scope}/secrets/${name}`,
    entry: (name) => entryName(vault, name),
  }
}

/**
 * A group with a vault in which the secret `Token` has this value. `base` is the path for resources of a kind beside
 * it.
 */
export async function makeBesideVault(segment: string, token: string): Promise<VaultPlace & { base: string }> {
  const place = await makeGroupPlace()
  const vault = await makeVault({}, place)
  await expectCall(200, 'PUT', vault.secret('Token'), { value: token })
  return { ...vault, base: place.resources(segment) }
}

/** A unique value. */
export function canary(): string {
  return `canary-${randomBytes(18).toString('base64url')}`
}
