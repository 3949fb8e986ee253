import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'

const SHOP = groupNamespace(B, 'shop')
const PATH = `/boundaries/${B}/resourcegroups/shop/resources/containerinstances/site/components`
const component = (name: string) => ({ name, image: 'docker.io/library/nginx:1.29' })

describe('POST /components/{name}/actions/redeploy', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    shop = await startShop()
  })
  after(() => shop.stop())

  it('redeploys a component, forgets removed components, and returns an ETag', async () => {
    const former = Array.from({ length: 20 }, (_, at) => [`former-${at}`, '2026-01-01T00:00:00Z'])
    const spec = { components: [component('web'), component('other')] }
    const redeployedAt = { ...Object.fromEntries(former.slice(1)), other: '2026-01-01T00:00:00Z' }
    shop.put(ContainerInstance, 'site', { ...spec, redeployedAt }, SHOP)
    const { status, body, headers } = await shop.ask('post', `${PATH}/web/actions/redeploy`)
    expect([status, body.changed], JSON.stringify(body)).to.deep.equal([200, true])
    expect(headers.etag).to.be.a('string')
    const stored = await shop.client.get(ContainerInstance.resource, { namespace: SHOP, name: 'site' })
    const kept = (stored.spec as { redeployedAt: object }).redeployedAt
    expect(Object.keys(kept).sort()).to.deep.equal(['other', 'web'])
    expect((await shop.ask('post', `${PATH}/former-1/actions/redeploy`)).status).to.equal(404)
  })

  const stopped: [title: string, spec: object, says: string][] = [
    ['stopped', { running: false, components: [component('web')] }, '"site" is stopped; start it instead.'],
    [
      'scaled to zero',
      { components: [{ ...component('web'), replicas: 0 }, component('other')] },
      'Component "web" of "site" has no copies; scale it up instead.',
    ],
  ]
  for (const [title, spec, says] of stopped)
    it(`returns 409 if there are no copies to replace: ${title}`, async () => {
      shop.put(ContainerInstance, 'site', spec, SHOP)
      const { status, body } = await shop.ask('post', `${PATH}/web/actions/redeploy`)
      expect([status, body.code, body.error]).to.deep.equal([409, 'INVALID_STATE', says])
    })
})
