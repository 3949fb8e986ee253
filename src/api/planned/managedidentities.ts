import { action, dataAction, planned, type RouteDraft } from '../route.ts'

/** Rows of managed identities that are not built yet. A row leaves when its route is built. */
export const plannedManagedidentities: readonly RouteDraft[] = [
  planned('GET', '{B}/resourcegroups/{resourceGroup}/providers/identity/managedidentities', {
    auth: action('managedidentities/read'),
    query: ['resourceName:string'],
    answers: [200],
  }),
  planned('POST', '{B}/resourcegroups/{resourceGroup}/providers/identity/managedidentities', {
    auth: action('managedidentities/write'),
    body: 'ProvisionRequest',
    answers: [200, 201],
  }),
  planned('GET', '{B}/resourcegroups/{resourceGroup}/providers/identity/managedidentities/{resourceUid}', {
    auth: action('managedidentities/read'),
    answers: [200],
  }),
  planned('DELETE', '{B}/resourcegroups/{resourceGroup}/providers/identity/managedidentities/{resourceUid}', {
    auth: action('managedidentities/delete'),
    answers: [200, 204],
  }),
  planned('POST', '{B}/resourcegroups/{resourceGroup}/providers/identity/managedidentities/{resourceUid}/token', {
    auth: dataAction('managedidentities/readSecrets'),
    answers: [200],
  }),
]
