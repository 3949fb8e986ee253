import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { DomainInAnyCase, SsoConnection } from '../../crds/sso.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagHeader, etagOf, nothingToMatch } from '../http/etag.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { mergePatchBody, withIgnoredReadFields } from '../resources/writtenBody.ts'
import { withChangeLock } from '../rules/changeLocks.ts'
import { bindings } from './bindings.ts'
import { createProvider, openConnection, patchProvider, removeProvider } from './providers.ts'
import {
  CreateSsoIdentityProviderRequest,
  connectionRef,
  PatchedProvider,
  requireTenant,
  SsoDto,
  SsoIdentityProviderDto,
  ssoDto,
  TENANT_PATH,
} from './record.ts'

const SetSsoDomainsRequest = strictRecord('SetSsoDomainsRequest', {
  domains: z
    .array(DomainInAnyCase)
    .max(50)
    .refine((domains) => new Set(domains).size === domains.length, 'names a domain twice')
    .describe('All of them: a domain that is left out is taken away'),
})

/** @throws PlatformError NOT_FOUND, domain_taken, CONFLICT */
async function setDomains(context: Context<'tenantId', unknown, z.output<typeof SetSsoDomainsRequest>>) {
  const { services, caller, ifMatch, body, parameters } = context
  const { tenantId } = parameters
  await requireTenant(context)
  return withChangeLock(services, { key: 'domains of tenants', sees: [] }, async () => {
    const all = await services.records.list(SsoConnection, { namespace: SYSTEM_NAMESPACE }, { fresh: true })
    const isThere = all.some(({ metadata }) => metadata.name === tenantId)
    if (!isThere && context.header('if-match') !== undefined) throw nothingToMatch()
    const others = all.filter(({ metadata }) => metadata.name !== tenantId).flatMap(({ spec }) => spec.domains)
    const takenDomains = body.domains.filter((domain) => others.includes(domain))
    if (takenDomains.length > 0) {
      throw new PlatformError('domain_taken', `The domain "${takenDomains[0]}" belongs to another tenant.`, {
        domains: takenDomains,
      })
    }
    await openConnection(services, caller, tenantId)
    const change = { caller, ifMatch, change: ({ spec }: { spec: object }) => ({ ...spec, domains: body.domains }) }
    const { object } = await services.records.update(SsoConnection, connectionRef(tenantId), change)
    return ok(ssoDto(services, tenantId, object), { etag: etagOf(object) })
  })
}

export const ssoRoutes: readonly RouteDraft[] = [
  ...bindings.routes(),
  route('GET', `${TENANT_PATH}/sso`, {
    auth: action('rbac/idpBindings/admin'),
    summary: 'How the people of a tenant sign in elsewhere',
    reply: SsoDto,
    handler: async (context) => {
      const { services, fresh, parameters } = context
      await requireTenant(context)
      const found = await services.records.get(SsoConnection, connectionRef(parameters.tenantId), { fresh })
      return ok(ssoDto(services, parameters.tenantId, found), etagHeader(found))
    },
  }),
  route('PUT', `${TENANT_PATH}/sso/domains`, {
    auth: action('rbac/idpBindings/admin'),
    summary: 'Set the domains whose people sign in elsewhere',
    body: SetSsoDomainsRequest,
    reply: SsoDto,
    handler: setDomains,
  }),
  route('POST', `${TENANT_PATH}/sso/identity-providers`, {
    auth: action('rbac/idpBindings/admin'),
    summary: 'Add an identity provider of the tenant',
    body: CreateSsoIdentityProviderRequest,
    reply: SsoIdentityProviderDto,
    handler: createProvider,
  }),
  route('PATCH', `${TENANT_PATH}/sso/identity-providers/{alias}`, {
    auth: action('rbac/idpBindings/admin'),
    summary: 'Change an identity provider of the tenant',
    ...mergePatchBody(withIgnoredReadFields(PatchedProvider, SsoIdentityProviderDto)),
    reply: SsoIdentityProviderDto,
    handler: patchProvider,
  }),
  route('DELETE', `${TENANT_PATH}/sso/identity-providers/{alias}`, {
    auth: action('rbac/idpBindings/admin'),
    summary: 'Take an identity provider away',
    handler: removeProvider,
  }),
]
