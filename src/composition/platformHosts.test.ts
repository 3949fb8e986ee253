import { expect } from 'chai'
import { Configuration, readConfiguration, variableName } from '../config.ts'
import { platformHosts } from './platformHosts.ts'

const ISSUER = 'https://login.example.com/realms/x'
const hostsWith = (settings: Record<string, string>) =>
  platformHosts(
    readConfiguration({
      PLATFORM_ISSUER: ISSUER,
      ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [variableName(name), value])),
    }),
  )
const takes = (field: keyof typeof Configuration.shape, value: string) =>
  Configuration.shape[field].safeParse(value).success
const addresses = (Object.keys(Configuration.shape) as (keyof typeof Configuration.shape)[]).filter(
  (field) => takes(field, 'https://x.example.com') && !takes(field, 'x.example.com'),
)

describe('platformHosts', () => {
  it('covers many settings', () => {
    expect(addresses).to.include.members(['publicUrl', 'issuer', 'keycloakUrl', 'registryUrl', 'jwksUrl'])
  })

  for (const field of addresses)
    it(`includes the host of ${field}`, () => {
      expect(hostsWith({ [field]: 'https://x.example.com:8443/path' })).to.include('x.example.com')
    })

  it('includes the registry host of image names, not that of registryUrl', () => {
    const url = 'http://registry.images.svc:5000'
    for (const registryHost of ['images.example.com', 'images.example.com:5000'])
      expect(hostsWith({ registryUrl: url, registryHost })).to.have.members(['login.example.com', 'images.example.com'])
  })

  it('excludes IP addresses and internal host names', () => {
    const settings = { publicUrl: 'http://127.0.0.1:8080', objectStoreEndpoint: 'http://store:9000' }
    expect(hostsWith(settings)).to.deep.equal(['login.example.com'])
  })
})
