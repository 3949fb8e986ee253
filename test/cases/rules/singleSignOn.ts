import { IdpBinding, SsoConnection } from '../../../src/crds/sso.ts'
import { cases, fixed, ID, OTHER, type RuleCase } from './case.ts'

const BINDING = { tenantId: ID, issuer: 'https://login.example.com', claimValue: 'staff' }

const BINDING_TARGET = 'a binding must name either groupId, or roleDefinitionName and scope'

const ROLE = { roleDefinitionName: 'Reader', scope: `/boundaries/${ID}` }

const OIDC = {
  alias: 'acme',
  displayName: 'Acme',
  metadataUrl: 'https://login.example.com/.well-known/openid-configuration',
  clientId: 'freehold',
  clientSecretName: 'sso-acme',
}

const SSO_ADDRESSES =
  'an identity provider must name metadataUrl, or all of issuer, authorizationUrl, tokenUrl and jwksUrl (Saml: issuer, authorizationUrl and signingCertificate)'

const SSO_CLIENT = 'an identity provider of the protocol Oidc needs a client id and a client secret'

const ENDPOINTS = {
  issuer: 'https://login.example.com',
  authorizationUrl: 'https://login.example.com/auth',
  tokenUrl: 'https://login.example.com/token',
  jwksUrl: 'https://login.example.com/keys',
}

export const SINGLE_SIGN_ON_RULES: readonly RuleCase[] = [
  ...cases(IdpBinding, BINDING, [
    ['a group', undefined, { groupId: ID }],
    ['a role at a scope', undefined, ROLE],
    ['a binding with group and role', undefined, { groupId: ID, ...ROLE }, BINDING_TARGET],
    ['a binding without group and role', undefined, {}, BINDING_TARGET],
    ['a role without a scope', undefined, { roleDefinitionName: 'Reader' }, BINDING_TARGET],
    ['a group with a scope', undefined, { groupId: ID, scope: '/' }, BINDING_TARGET],
    ['another tenant', { groupId: ID }, { groupId: ID, tenantId: OTHER }, fixed('tenantId')],
    ['another issuer', { groupId: ID }, { groupId: ID, issuer: 'https://b.example' }, fixed('issuer')],
    ['another claim', { groupId: ID }, { groupId: ID, claim: 'roles' }, fixed('claim')],
    ['another value', { groupId: ID }, { groupId: ID, claimValue: 'x' }, fixed('claimValue')],
    ['another group', { groupId: ID }, { groupId: OTHER }, fixed('groupId')],
    ['another role', ROLE, { ...ROLE, roleDefinitionName: 'Owner' }, fixed('roleDefinitionName')],
    ['another scope', ROLE, { ...ROLE, scope: `/boundaries/${OTHER}` }, fixed('scope')],
    ['another incarnation', ROLE, { ...ROLE, scopeIncarnation: ID }, fixed('scopeIncarnation')],
  ]),
  ...cases(SsoConnection, {}, [
    ['an empty spec', undefined, {}],
    ['domains and a provider', undefined, { domains: ['a.example', 'b.example'], identityProviders: [OIDC] }],
    ['a duplicate domain', undefined, { domains: ['a.example', 'a.example'] }, 'each domain must be named once'],
    [
      'a duplicate alias',
      undefined,
      { identityProviders: [OIDC, { ...OIDC, displayName: 'Acme two' }] },
      'each identity provider must have an alias of its own',
    ],
    [
      'a provider by its endpoints',
      undefined,
      { identityProviders: [{ ...OIDC, metadataUrl: undefined, ...ENDPOINTS }] },
    ],
    [
      'a provider without keys',
      undefined,
      { identityProviders: [{ ...OIDC, metadataUrl: undefined, ...ENDPOINTS, jwksUrl: undefined }] },
      SSO_ADDRESSES,
    ],
    [
      'a SAML provider without a certificate',
      undefined,
      { identityProviders: [{ alias: 'acme', displayName: 'Acme', protocol: 'Saml', ...ENDPOINTS }] },
      SSO_ADDRESSES,
    ],
    [
      'a SAML provider without a client',
      undefined,
      { identityProviders: [{ alias: 'acme', displayName: 'Acme', protocol: 'Saml', metadataUrl: OIDC.metadataUrl }] },
    ],
    [
      'an OIDC provider without a secret',
      undefined,
      { identityProviders: [{ ...OIDC, clientSecretName: undefined }] },
      SSO_CLIENT,
    ],
    [
      'another protocol',
      { identityProviders: [OIDC] },
      { identityProviders: [{ ...OIDC, protocol: 'Saml' }] },
      'protocol of an identity provider cannot be changed after creation',
    ],
    [
      'another protocol under another alias',
      { identityProviders: [OIDC] },
      { identityProviders: [{ ...OIDC, alias: 'other', protocol: 'Saml' }] },
    ],
  ]),
]
