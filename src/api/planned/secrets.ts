import { action, authenticated, dataAction, planned, type RouteDraft } from '../route.ts'

/** Rows of secret vaults (interface section 4.9) that are not built yet. A row leaves when its route is built. */
export const plannedSecrets: readonly RouteDraft[] = [
  planned('GET', '{RG}/secretvaults', {
    auth: action('secretvault/read'),
    operation: 'ListSecretVaults',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/secretvaults/config', {
    auth: action('secretvault/read'),
    operation: 'GetSecretVaultsConfig',
    answers: [200],
  }),
  planned('GET', '{RG}/secretvaults/{name}', {
    auth: action('secretvault/read'),
    operation: 'GetSecretVault',
    answers: [200, 404],
  }),
  planned('POST', '{RG}/secretvaults/{name}', {
    auth: action('secretvault/write'),
    operation: 'CreateSecretVault',
    body: 'SecretVaultDto',
    answers: [200, 201, 400, 409],
  }),
  planned('PUT', '{RG}/secretvaults/{name}', {
    auth: action('secretvault/write'),
    operation: 'UpdateSecretVault',
    body: 'SecretVaultDto',
    answers: [200, 400, 404],
  }),
  planned('PATCH', '{RG}/secretvaults/{name}', {
    auth: action('secretvault/write'),
    operation: 'PatchSecretVault',
    body: 'any',
    answers: [200, 400, 404],
  }),
  planned('DELETE', '{RG}/secretvaults/{name}', {
    auth: action('secretvault/delete'),
    operation: 'DeleteSecretVault',
    answers: [200, 202, 204, 404],
  }),
  planned('GET', '{B}/resources/secretvaults', {
    auth: action('secretvault/read'),
    operation: 'ListAllSecretVaults',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{B}/resources/secretvaults/config', {
    auth: action('secretvault/read'),
    operation: 'GetAllSecretVaultsConfig',
    answers: [200],
  }),
  planned('GET', '{B}/resources/secretvaults/accessible', {
    auth: action('secretvault/read'),
    operation: 'GetAccessibleVaults',
    answers: [200],
  }),
  planned('GET', '{RG}/secretvaults/{resourceName}/secrets', {
    auth: action('secretvault/read'),
    query: ['includeDeleted:boolean'],
    answers: [200],
  }),
  planned('GET', '{RG}/secretvaults/{resourceName}/secrets/{secretName}', {
    auth: dataAction('secretvault/readSecrets'),
    answers: [200],
  }),
  planned('PUT', '{RG}/secretvaults/{resourceName}/secrets/{secretName}', {
    auth: dataAction('secretvault/writeSecrets'),
    body: 'SetSecretRequest',
    answers: [200],
  }),
  planned('DELETE', '{RG}/secretvaults/{resourceName}/secrets/{secretName}', {
    auth: dataAction('secretvault/writeSecrets'),
    answers: [200, 204],
  }),
  planned('POST', '{RG}/secretvaults/{resourceName}/secrets/{secretName}/purge', {
    auth: dataAction('secretvault/writeSecrets'),
    answers: [200, 204],
  }),
  planned('POST', '{RG}/secretvaults/{resourceName}/secrets/{secretName}/recover', {
    auth: dataAction('secretvault/writeSecrets'),
    answers: [200],
  }),
  planned('GET', '{RG}/secretvaults/{resourceName}/secrets/{secretName}/versions', {
    auth: dataAction('secretvault/readSecrets'),
    answers: [200],
  }),
  planned('GET', '{RG}/secretvaults/{resourceName}/secrets/{secretName}/versions/{version}', {
    auth: dataAction('secretvault/readSecrets'),
    answers: [200],
  }),
  planned('GET', '/vaults/{vaultName}/secrets/{name}', {
    auth: authenticated,
    operation: 'GetSecretByVaultName',
    query: ['version:integer'],
    answers: [200],
  }),
]
