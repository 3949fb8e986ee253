import { expect } from 'chai'
import { parseProviderMetadata } from './ssoDiscovery.ts'

const ISSUER = 'https://login.acme.example'
const OTHER = 'https://login.evil.example'
const WELL_KNOWN = `${ISSUER}/.well-known/openid-configuration`
const discovery = (issuer: string) =>
  JSON.stringify({
    issuer,
    authorization_endpoint: `${ISSUER}/auth`,
    token_endpoint: `${ISSUER}/token`,
    jwks_uri: `${ISSUER}/keys`,
  })
const SIGN_ON = '<md:SingleSignOnService Binding="redirect" Location="https://login.acme.example/saml"/>'
const entity = (id: string, content = `<md:IDPSSODescriptor>${SIGN_ON}</md:IDPSSODescriptor>`) =>
  `<md:EntityDescriptor entityID="${id}">${content}</md:EntityDescriptor>`
const saml = (...ids: string[]) =>
  `<md:EntitiesDescriptor>${ids.map((id) => entity(id)).join('')}</md:EntitiesDescriptor>`

describe('parseProviderMetadata', () => {
  const oidc: [sentence: string, text: string, asked: { metadataUrl?: string; issuer?: string }, why?: string][] = [
    ['accepts the issuer of the metadata URL', discovery(ISSUER), {}],
    ['accepts the configured issuer', discovery(ISSUER), { issuer: ISSUER }],
    ['accepts an issuer with a trailing slash', discovery(`${ISSUER}/`), {}],
    [
      'accepts the configured issuer from another host',
      discovery(ISSUER),
      { metadataUrl: 'https://files.acme.example/oidc.json', issuer: ISSUER },
    ],
    ['rejects another issuer than the URL names', discovery(OTHER), {}, 'than its address names'],
    [
      'rejects another issuer than configured, even if the URL names it',
      discovery(ISSUER),
      { issuer: OTHER },
      'than "issuer" names',
    ],
    [
      'rejects another issuer than configured, from another host',
      discovery(ISSUER),
      { metadataUrl: 'https://files.acme.example/oidc.json', issuer: OTHER },
      'than "issuer" names',
    ],
    [
      'rejects an issuer that differs from the configured one by a slash',
      discovery(ISSUER),
      { issuer: `${ISSUER}/` },
      'than "issuer" names',
    ],
    ['rejects a document without an issuer', '{}', {}, 'not a discovery document'],
    ['rejects text that is not JSON', 'no', { issuer: ISSUER }, 'not a discovery document'],
    [
      'rejects a document with more than 30,000 values',
      JSON.stringify({
        ...JSON.parse(discovery(ISSUER)),
        token_endpoint_auth_methods_supported: Array(30_000).fill('a'),
      }),
      {},
      'not a discovery document',
    ],
  ]
  for (const [sentence, text, settings, reason] of oidc) {
    it(`${sentence} (OIDC)`, () => {
      const read = parseProviderMetadata(text, { protocol: 'Oidc', metadataUrl: WELL_KNOWN, ...settings })
      if (reason === undefined) expect(read).to.have.nested.property('endpoints.tokenUrl', `${ISSUER}/token`)
      else expect(read).to.have.property('why').that.contains(reason)
    })
  }

  const entities: [sentence: string, text: string, issuer: string | undefined, why?: string][] = [
    ['accepts any entity if no issuer is configured', saml(ISSUER), undefined],
    ['accepts the configured entity among others', saml(OTHER, ISSUER), ISSUER],
    ['accepts an entity id with XML escapes', saml(`${ISSUER}/?a=b&amp;c=d`), `${ISSUER}/?a=b&c=d`],
    ['rejects another entity', saml(ISSUER), OTHER, 'than "issuer" names'],
    ['rejects metadata without entities', saml(), OTHER, 'than "issuer" names'],
    ['rejects a document type definition', `<!DOCTYPE a>${saml(ISSUER)}`, undefined, 'not SAML metadata'],
    ['rejects an HTML page', '<html>', undefined, 'not SAML metadata'],
    [
      'accepts a byte order mark, comments, CDATA and references',
      `\uFEFF<?xml version="1.0"?>\n<!-- <a> -->${entity(ISSUER, `<![CDATA[<b>]]>&#x41; <md:IDPSSODescriptor a = '>' >${SIGN_ON}</md:IDPSSODescriptor >`)}\n`,
      ISSUER,
    ],
    ['rejects a truncated document', saml(ISSUER).slice(0, -10), undefined, 'not SAML metadata'],
    ['rejects an unclosed element', saml(ISSUER).replace('"/>', '">'), undefined, 'not SAML metadata'],
    ['rejects overlapping elements', `<a>${saml(ISSUER)}<b></a></b>`, undefined, 'not SAML metadata'],
    ['rejects content after the root element', `${saml(ISSUER)}<a/>`, undefined, 'not SAML metadata'],
    ['rejects text before the root element', `see ${saml(ISSUER)}`, undefined, 'not SAML metadata'],
    ['rejects an unquoted attribute', saml(ISSUER).replace('"redirect"', 'redirect'), undefined, 'not SAML metadata'],
    ['rejects an unescaped ampersand', saml(`${ISSUER}?a&b`), undefined, 'not SAML metadata'],
    [
      'rejects an entity without an identity provider',
      entity(ISSUER, '<md:SPSSODescriptor/>'),
      undefined,
      'describes no identity provider',
    ],
    [
      'rejects an identity provider without a sign-on URL',
      entity(ISSUER, '<md:IDPSSODescriptor/>'),
      undefined,
      'describes no identity provider',
    ],
  ]
  for (const [sentence, text, issuer, reason] of entities) {
    it(`${sentence} (SAML)`, () => {
      const read = parseProviderMetadata(text, {
        protocol: 'Saml',
        metadataUrl: 'https://login.acme.example/saml',
        issuer,
      })
      if (reason === undefined) expect(read).to.deep.equal({ endpoints: undefined })
      else expect(read).to.have.property('why').that.contains(reason)
    })
  }
})
