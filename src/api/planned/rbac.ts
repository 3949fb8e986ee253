import { action, planned, type RouteDraft } from '../route.ts'

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
]
