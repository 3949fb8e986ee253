import { action, planned, type RouteDraft } from '../route.ts'

/** Rows of object storage (interface section 4.12) that are not built yet. A row leaves when its route is built. */
export const plannedObjectstorage: readonly RouteDraft[] = [
  planned('GET', '{B}/resourcegroups/{resourceGroupName}/managedidentities/{managedIdentityId}/objectaccesskeys', {
    auth: action('objectaccesskeys/read'),
    answers: [200],
  }),
  planned('POST', '{B}/resourcegroups/{resourceGroupName}/managedidentities/{managedIdentityId}/objectaccesskeys', {
    auth: action('objectaccesskeys/write'),
    body: 'IssueAccessKeyRequest',
    answers: [200, 201],
  }),
  planned(
    'DELETE',
    '{B}/resourcegroups/{resourceGroupName}/managedidentities/{managedIdentityId}/objectaccesskeys/{keyId}',
    { auth: action('objectaccesskeys/delete'), answers: [200, 204] },
  ),
  planned(
    'PATCH',
    '{B}/resourcegroups/{resourceGroupName}/managedidentities/{managedIdentityId}/objectaccesskeys/{keyId}',
    { auth: action('objectaccesskeys/write'), body: 'UpdateAccessKeyStatusRequest', answers: [200] },
  ),
  planned('GET', '{RG}/objectstorageaccounts/{accountName}/accesskeys', {
    auth: action('objectaccesskeys/read'),
    answers: [200],
  }),
  planned('POST', '{RG}/objectstorageaccounts/{accountName}/accesskeys', {
    auth: action('objectaccesskeys/write'),
    body: 'IssueAccessKeyRequest',
    answers: [200, 201],
  }),
  planned('GET', '{RG}/objectstorageaccounts/{accountName}/buckets', {
    auth: action('objectbuckets/read'),
    answers: [200],
  }),
  planned('POST', '{RG}/objectstorageaccounts/{accountName}/buckets', {
    auth: action('objectbuckets/write'),
    body: 'BucketCreateDto',
    answers: [200, 201],
  }),
  planned('GET', '{RG}/objectstorageaccounts/{accountName}/buckets/{bucketName}', {
    auth: action('objectbuckets/read'),
    answers: [200],
  }),
  planned('DELETE', '{RG}/objectstorageaccounts/{accountName}/buckets/{bucketName}', {
    auth: action('objectbuckets/delete'),
    answers: [200, 204],
  }),
  planned('POST', '{RG}/objectstorageaccounts/{name}/sts/sessions', {
    auth: action('objectsts/issue'),
    body: 'IssueStsRequest',
    answers: [200, 201],
  }),
  planned('GET', '{RG}/objectstorageaccounts', { auth: action('objectstorageaccounts/read'), answers: [200] }),
  planned('GET', '{RG}/objectstorageaccounts/{name}', { auth: action('objectstorageaccounts/read'), answers: [200] }),
  planned('DELETE', '{RG}/objectstorageaccounts/{name}', {
    auth: action('objectstorageaccounts/delete'),
    answers: [200, 204],
  }),
  planned('POST', '{RG}/objectstorageaccounts/{name}', {
    auth: action('objectstorageaccounts/write'),
    body: 'account create record',
    answers: [200, 201],
  }),
  planned('PUT', '{RG}/objectstorageaccounts/{name}', {
    auth: action('objectstorageaccounts/write'),
    body: 'account create record',
    answers: [200],
  }),
  planned('PATCH', '{RG}/objectstorageaccounts/{name}', {
    auth: action('objectstorageaccounts/write'),
    body: 'any',
    answers: [200],
  }),
  planned('GET', '{RG}/objectstorageaccounts/{name}/audit', { auth: action('object/audit/read'), answers: [200] }),
  planned('GET', '{RG}/objectstorageaccounts/{name}/usage', {
    auth: action('objectstorageaccounts/read'),
    answers: [200],
  }),
  planned('GET', '{B}/resources/objectstorageaccounts', { auth: action('objectstorageaccounts/read'), answers: [200] }),
  planned('GET', '{B}/resources/objectstorageaccounts/config', {
    auth: action('objectstorageaccounts/read'),
    answers: [200],
  }),
  planned('GET', '{B}/resources/objectstorageaccounts/runtime-info', {
    auth: action('objectstorageaccounts/read'),
    answers: [200],
  }),
]
