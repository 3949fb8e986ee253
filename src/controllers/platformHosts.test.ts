import { expect } from 'chai'
import { silentLog } from '../core/log.ts'
import { NameClaim } from '../crds/nameclaims.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import { claimPlatformHosts } from './platformHosts.ts'

describe('claimPlatformHosts', () => {
  const heldBy = async (client: FakeKubeClient) => {
    const { items } = await client.list(NameClaim.resource)
    return items.map(({ spec }) => {
      const { value, holder } = spec as NameClaim['spec']
      return `${value} ${holder.kind}`
    })
  }

  it('claims the hosts of the settings and releases removed ones', async () => {
    const client = new FakeKubeClient()
    await claimPlatformHosts(client, ['api.example.com', 'login.example.com'], silentLog)
    await claimPlatformHosts(client, ['api.example.com', 'login.example.com'], silentLog)
    expect(await heldBy(client)).to.have.members(['api.example.com Platform', 'login.example.com Platform'])
    await claimPlatformHosts(client, ['api.example.com'], silentLog)
    expect(await heldBy(client)).to.deep.equal(['api.example.com Platform'])
  })

  it('leaves a host that a resource has claimed and logs a warning', async () => {
    const client = new FakeKubeClient()
    await claimPlatformHosts(client, ['api.example.com'], silentLog)
    const [claim] = (await client.list(NameClaim.resource)).items
    if (claim === undefined) throw new Error('no claim')
    await client.remove(NameClaim.resource, { name: claim.metadata.name })
    const spec = {
      type: 'Host',
      value: 'api.example.com',
      holder: { kind: 'PlatformApp', namespace: 'a', name: 'b', incarnation: 'c' },
    }
    await client.create(NameClaim.resource, { ...claim, metadata: { name: claim.metadata.name }, spec } as never)
    const warned: object[] = []
    await claimPlatformHosts(client, ['api.example.com'], {
      ...silentLog,
      warn: (what: object) => warned.push(what),
    } as never)
    expect(await heldBy(client)).to.deep.equal(['api.example.com PlatformApp'])
    expect(warned).to.deep.equal([{ host: 'api.example.com' }])
  })
})
