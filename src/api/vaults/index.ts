import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { SecretVault } from '../../crds/vaults.ts'
import { action, authenticated, dataAction, type RouteDraft, route } from '../http/route.ts'
import { pagedListOf } from '../resources/dto.ts'
import { resource } from '../resources/resource.ts'
import { keepsSecrets } from '../rules/protection.ts'
import type { Vaults } from './keys.ts'
import { listAccessible, listSecrets, listVersions, readByVaultName, readSecret, readVersion } from './read.ts'
import {
  AccessibleVaultDto,
  accessibleShape,
  COLLECTION,
  SecretDto,
  SecretVersionDto,
  secretCount,
  secretShape,
  type VaultView,
  vaultRecord,
  versionShape,
} from './record.ts'
import { SetSecretRequest } from './requests.ts'
import { deleteSecret, purgeSecret, recoverSecret, setSecret } from './write.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly vaults: Vaults
  }
}

const SECRETS = '{RG}/secretvaults/{resourceName}/secrets'
const SECRET = '{RG}/secretvaults/{resourceName}/secrets/{secretName}'

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
    plural: 'SecretVaults',
    singular: 'SecretVault',
    ...vaultRecord,
    omit: ['action', 'getScale', 'scale'],
    nameTaken: 'VAULT_NAME_TAKEN',
    hasFinalizer: true,
    beforeDelete: refuseProtected,
    fields: {
      softDeleteEnabled: {
        title: 'Soft delete',
        type: 'boolean',
        of: ({ object }) => object.spec.softDeleteEnabled,
        isSorted: false,
      },
      enablePurgeProtection: {
        title: 'Purge protection',
        type: 'boolean',
        of: ({ object }) => object.spec.enablePurgeProtection,
        isSorted: false,
      },
      secretCount: {
        title: 'Secrets',
        type: 'number',
        of: ({ object, services }) => secretCount(services, object),
        isFiltered: false,
      },
    },
  }),
  route(
    'GET',
    '{B}/resources/secretvaults/accessible',
    {
      auth: action('secretvault/read'),
      operation: 'GetAccessibleVaults',
      summary: 'Vaults whose secrets the caller may read or write',
      list: accessibleShape as never,
      reply: pagedListOf(AccessibleVaultDto),
      answers: [200],
    },
    listAccessible,
  ),
  route(
    'GET',
    SECRETS,
    {
      auth: action('secretvault/read'),
      summary: 'The secrets of a vault, without their values',
      query: z.strictObject({ includeDeleted: z.enum(['true', 'false']).optional() }),
      list: secretShape as never,
      reply: pagedListOf(SecretDto),
      answers: [200],
    },
    listSecrets,
  ),
  route(
    'GET',
    SECRET,
    {
      auth: dataAction('secretvault/readSecrets'),
      summary: 'A secret with its value',
      reply: SecretDto,
      answers: [200],
    },
    readSecret,
  ),
  route(
    'PUT',
    SECRET,
    {
      auth: dataAction('secretvault/writeSecrets'),
      summary: 'A new version of a secret, and the secret where there is none',
      body: SetSecretRequest,
      reply: SecretDto,
      answers: [200],
    },
    setSecret,
  ),
  route(
    'DELETE',
    SECRET,
    {
      auth: dataAction('secretvault/writeSecrets'),
      summary: 'Delete a secret; 200 where it can be recovered',
      reply: SecretDto,
      answers: [200, 204],
    },
    deleteSecret,
  ),
  route(
    'POST',
    `${SECRET}/purge`,
    {
      auth: dataAction('secretvault/writeSecrets'),
      summary: 'Remove a deleted secret for good',
      answers: [200, 204],
    },
    purgeSecret,
  ),
  route(
    'POST',
    `${SECRET}/recover`,
    {
      auth: dataAction('secretvault/writeSecrets'),
      summary: 'Make a deleted secret active again',
      reply: SecretDto,
      answers: [200],
    },
    recoverSecret,
  ),
  route(
    'GET',
    `${SECRET}/versions`,
    {
      auth: dataAction('secretvault/readSecrets'),
      summary: 'The versions of a secret, newest first, without their values',
      list: versionShape as never,
      reply: pagedListOf(SecretVersionDto),
      answers: [200],
    },
    listVersions,
  ),
  route(
    'GET',
    `${SECRET}/versions/{version}`,
    {
      auth: dataAction('secretvault/readSecrets'),
      summary: 'A version with its value',
      reply: SecretVersionDto,
      answers: [200],
    },
    readVersion,
  ),
  route(
    'GET',
    '/vaults/{vaultName}/secrets/{name}',
    {
      auth: authenticated,
      operation: 'GetSecretByVaultName',
      summary: 'A secret with its value, by the name of its vault alone',
      query: z.strictObject({ version: z.coerce.number().int().min(1).optional() }),
      reply: SecretDto,
      answers: [200],
    },
    readByVaultName,
  ),
]
