import { action, planned, type RouteDraft } from '../route.ts'

/** Rows of authorization and administration that are not built yet. A row leaves when its route is built. */
export const plannedRbac: readonly RouteDraft[] = [
  planned('GET', '/admin/boundary-trusts', {
    auth: action('rbac/boundaryTrusts/admin'),
    query: ['boundaryId:uuid'],
    answers: [200],
  }),
  planned('POST', '/admin/boundary-trusts', {
    auth: action('rbac/boundaryTrusts/admin'),
    body: 'CreateTrustRequest',
    answers: [200, 201],
  }),
  planned('DELETE', '/admin/boundary-trusts/{trustId}', {
    auth: action('rbac/boundaryTrusts/admin'),
    answers: [200, 204],
  }),
  planned('POST', '/admin/iam/members', {
    auth: action('rbac/members/admin'),
    body: 'AddMemberRequest',
    answers: [200, 201],
  }),
  planned('DELETE', '/admin/iam/members/{userId}/{tenantId}', {
    auth: action('rbac/members/admin'),
    answers: [200, 204],
  }),
  planned('GET', '/admin/tenants/{tenantId}/idp-bindings', { auth: action('rbac/idpBindings/admin'), answers: [200] }),
  planned('POST', '/admin/tenants/{tenantId}/idp-bindings', {
    auth: action('rbac/idpBindings/admin'),
    body: 'CreateBindingRequest',
    answers: [200, 201],
  }),
  planned('DELETE', '/admin/tenants/{tenantId}/idp-bindings/{bindingId}', {
    auth: action('rbac/idpBindings/admin'),
    answers: [200, 204],
  }),
  planned('GET', '/admin/tenants/{tenantId}/sso', { auth: action('rbac/idpBindings/admin'), answers: [200] }),
  planned('PUT', '/admin/tenants/{tenantId}/sso/domains', {
    auth: action('rbac/idpBindings/admin'),
    body: 'SetSsoDomainsRequest',
    answers: [200],
  }),
  planned('POST', '/admin/tenants/{tenantId}/sso/identity-providers', {
    auth: action('rbac/idpBindings/admin'),
    body: 'CreateSsoIdentityProviderRequest',
    answers: [200, 201],
  }),
  planned('PATCH', '/admin/tenants/{tenantId}/sso/identity-providers/{alias}', {
    auth: action('rbac/idpBindings/admin'),
    body: 'any',
    answers: [200],
  }),
  planned('DELETE', '/admin/tenants/{tenantId}/sso/identity-providers/{alias}', {
    auth: action('rbac/idpBindings/admin'),
    answers: [200, 204],
  }),
  planned('POST', '{B}/providers/authorization/groups', {
    auth: action('rbac/members/write'),
    body: 'CreateBoundaryGroupRequest',
    answers: [200, 201],
  }),
  planned('POST', '{B}/providers/authorization/purge', {
    auth: action('boundaries/delete'),
    scope: 'root',
    answers: [200],
  }),
  planned('POST', '{B}/providers/authorization/tenant-move', {
    auth: action('boundaries/tenant/admin'),
    scope: 'root',
    body: 'BoundaryTenantMoveRequest',
    answers: [200],
  }),
  planned('GET', '{B}/providers/authorization/denyAssignments', {
    auth: action('rbac/members/read'),
    query: ['principalId:uuid'],
    answers: [200],
  }),
  planned('POST', '{B}/providers/authorization/denyAssignments', {
    auth: action('rbac/members/write'),
    body: 'CreateDenyAssignmentRequest',
    answers: [200, 201],
  }),
  planned('GET', '{B}/providers/authorization/denyAssignments/{denyId}', {
    auth: action('rbac/members/read'),
    answers: [200],
  }),
  planned('DELETE', '{B}/providers/authorization/denyAssignments/{denyId}', {
    auth: action('rbac/members/write'),
    answers: [200, 204],
  }),
  planned('GET', '{B}/iam/members', { auth: action('rbac/members/read'), answers: [200] }),
  planned('DELETE', '{B}/iam/members/{userId}', { auth: action('rbac/members/write'), answers: [200, 204] }),
]
