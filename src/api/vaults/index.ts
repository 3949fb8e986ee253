import { z } from 'zod'
import { SECRET_NAME_PATTERN, SECRET_NAMING } from '../../contracts/vaults/names.ts'
import { PlatformError } from '../../core/errors.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { WholeNumber } from '../http/query.ts'
import { checkedByHandler, dataAction, type RouteDraft, route, withKind } from '../http/route.ts'
import { flag, number } from '../resources/paging.ts'
import { resource } from '../resources/resource.ts'
import { keepsSecrets } from '../rules/protection.ts'
import { SECRET_PATH } from './find.ts'
import type { Vaults } from './keys.ts'
import { accessibleList, secretList, versionList } from './lists.ts'
import { readByVaultName, readSecret, readVersion } from './read.ts'
import { COLLECTION, SecretDto, SecretVersionDto, secretCount, type VaultView, vaultRecord } from './record.ts'
import { SetSecretRequest } from './requests.ts'
import { deleteSecret, purgeSecret, recoverSecret, setSecret } from './write.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly vaults: Vaults
  }
}

function refuseProtected(view: VaultView): void {
  if (!keepsSecrets(view.services, view.object)) return
  const { name } = view.object.metadata
  throw new PlatformError('DELETION_PROTECTED', `Vault "${name}" is under purge protection and holds secrets.`, {
    resources: [`${COLLECTION}/${name}`],
  })
}

/** The nineteen routes of secret vaults (interface sections 4.2 and 4.9). */
export const vaultRoutes: readonly RouteDraft[] = [
  ...resource(SecretVault, {
    segment: COLLECTION,
    actionPrefix: 'secretvault',
    ...vaultRecord,
    example: { softDeleteEnabled: true },
    nameTaken: 'VAULT_NAME_TAKEN',
    beforeDelete: refuseProtected,
    fields: {
      softDeleteEnabled: flag('Soft delete'),
      enablePurgeProtection: flag('Purge protection'),
      secretCount: number('Secrets', {
        of: ({ object, services }) => secretCount(services, object),
        isFiltered: false,
      }),
    },
  }),
  accessibleList,
  secretList,
  versionList,
  ...withKind(VaultEntry, [
    route('GET', SECRET_PATH, {
      auth: dataAction('secretvault/readSecrets'),
      summary: 'A secret with its value',
      reply: SecretDto,
      handler: readSecret,
    }),
    route('PUT', SECRET_PATH, {
      auth: dataAction('secretvault/writeSecrets'),
      summary: 'Add a version to a secret, which is created if absent',
      body: SetSecretRequest,
      naming: { rule: SECRET_NAMING, pattern: SECRET_NAME_PATTERN },
      example: { value: 'change-me' },
      reply: SecretDto,
      handler: setSecret,
    }),
  ]),
  route('DELETE', SECRET_PATH, {
    auth: dataAction('secretvault/writeSecrets'),
    summary: 'Delete a secret; 200 if it can be recovered',
    reply: SecretDto,
    handler: deleteSecret,
  }),
  route('POST', `${SECRET_PATH}/purge`, {
    auth: dataAction('secretvault/writeSecrets'),
    isHeld: true,
    summary: 'Remove a deleted secret for good',
    handler: purgeSecret,
  }),
  route('POST', `${SECRET_PATH}/recover`, {
    auth: dataAction('secretvault/writeSecrets'),
    isHeld: true,
    summary: 'Make a deleted secret active again',
    reply: SecretDto,
    handler: recoverSecret,
  }),
  route('GET', `${SECRET_PATH}/versions/{version}`, {
    auth: dataAction('secretvault/readSecrets'),
    summary: 'A version with its value',
    reply: SecretVersionDto,
    handler: readVersion,
  }),
  route('GET', '/vaults/{vaultName}/secrets/{name}', {
    auth: checkedByHandler('the data action `secretvault/readSecrets` at the vault'),
    summary: 'A secret with its value, by the name of its vault alone',
    query: z.strictObject({ version: WholeNumber(1).optional().describe('The current one when absent') }),
    reply: SecretDto,
    handler: readByVaultName,
  }),
]
