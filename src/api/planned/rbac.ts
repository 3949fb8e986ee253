import { action, anonymous, authenticated, planned, type RouteDraft } from '../route.ts'

/** Rows of authorization and administration that are not built yet. A row leaves when its route is built. */
export const plannedRbac: readonly RouteDraft[] = [
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
  planned('GET', '/admin/users', { auth: authenticated, query: ['max:integer', 'search:string'], answers: [200] }),
  planned('GET', '/admin/users/{userId}', { auth: authenticated, answers: [200] }),
  planned('GET', '{B}/providers/authorization/invitations', {
    auth: action('boundaries/invitations/read'),
    query: ['status:string'],
    answers: [200],
  }),
  planned('POST', '{B}/providers/authorization/invitations', {
    auth: action('boundaries/invitations/create'),
    body: 'CreateInvitationRequest',
    answers: [200, 201],
  }),
  planned('DELETE', '{B}/providers/authorization/invitations/{invitationId}', {
    auth: action('boundaries/invitations/create'),
    answers: [200, 204],
  }),
  planned('POST', '{B}/providers/authorization/invitations/{invitationId}/resend', {
    auth: action('boundaries/invitations/create'),
    answers: [200],
  }),
  planned('POST', '/invitations/{token}/set-password', {
    auth: anonymous,
    body: 'password, firstName, lastName',
    answers: [200, 404, 409, 410, 400, 422],
  }),
  planned('POST', '/invitations/accept', { auth: authenticated, body: 'token', answers: [200, 400, 404, 409, 410] }),
  planned('GET', '/invitations/{token}', { auth: anonymous, answers: [200, 404] }),
  planned('GET', '/invitations/password-policy', { auth: anonymous, answers: [200] }),
  planned('POST', '/identity/password-reset', { auth: anonymous, body: 'email', answers: [202, 429] }),
  planned('GET', '/identity/password-reset/{token}', { auth: anonymous, answers: [200, 404] }),
  planned('POST', '/identity/password-reset/{token}', {
    auth: anonymous,
    body: 'password',
    answers: [200, 404, 410, 422],
  }),
  planned('POST', '/identity/change-password', {
    auth: authenticated,
    body: 'password',
    answers: [200, 401, 409, 422],
  }),
  planned('GET', '/identity/password-policy', { auth: anonymous, answers: [200] }),
]
