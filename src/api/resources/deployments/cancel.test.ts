import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../../test/worlds/shop.ts'
import { DEPLOYMENT_PHASES, type DeploymentPhase, isFinalPhase } from '../../../contracts/deployments.ts'
import { groupNamespace } from '../../../core/names.ts'
import { PlatformApp } from '../../../crds/apps.ts'
import { DeploymentRecord } from '../../../crds/deployments.ts'
import { FunctionNamespace } from '../../../crds/functions.ts'
import { StaticWebApp } from '../../../crds/staticwebapps.ts'

const RESOURCES = `/boundaries/${B}/resourcegroups/shop/resources`
const namespace = groupNamespace(B, 'shop')
const repositoryUrl = 'https://git.example.com/acme/shop.git'
const APP = { ownerCollection: 'apps', ownerName: 'shop', strategy: 'Build' }

describe('DELETE of a deployment', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    server.put(PlatformApp, 'shop', { sourceKind: 'Repository', repositoryUrl }, namespace)
    server.put(StaticWebApp, 'docs', { repositoryUrl }, namespace)
    server.put(FunctionNamespace, 'calls', { runtime: 'nodejs' }, namespace)
  })
  after(() => server.stop())

  let number = 0
  const put = (spec: object, stage: DeploymentPhase = 'Queued') => {
    const name = randomUUID()
    number += 1
    server.put(DeploymentRecord, name, spec, namespace)
    server.client.edit(DeploymentRecord.resource, { namespace, name }, (object) => {
      object.status = { stage, number }
    })
    return name
  }
  const cancel = (id: string, of = 'apps/shop') => server.ask('delete', `${RESOURCES}/${of}/deployments/${id}`)
  const outcome = async (id: string, of?: string) => {
    const { status, body } = await cancel(id, of)
    return [status, body.code ?? body.phase]
  }

  for (const stage of DEPLOYMENT_PHASES.filter((phase) => phase !== 'Cancelled')) {
    const isPast = isFinalPhase(stage) || stage === 'Deploying'
    it(`${isPast ? 'returns 409' : 'cancels at once, also when repeated,'} in phase ${stage}`, async () => {
      const id = put(APP, stage)
      const expected = isPast ? [409, 'INVALID_STATE'] : [200, 'Cancelled']
      expect(await outcome(id)).to.deep.equal(expected)
      const { body } = await server.ask('get', `${RESOURCES}/apps/shop/deployments?filter=phase:eq:cancelled`)
      expect(body.items.some((one: { id: string }) => one.id === id)).to.equal(!isPast)
      expect(await outcome(id)).to.deep.equal(expected)
    })
  }

  it('cancels a deployment of its own app, site or function only', async () => {
    const site = put({ ...APP, ownerCollection: 'staticwebapps', ownerName: 'docs' }, 'Building')
    expect(await outcome(site)).to.deep.equal([404, 'NOT_FOUND'])
    expect(await outcome(site, 'staticwebapps/docs')).to.deep.equal([200, 'Cancelled'])
    const { body } = await server.ask('get', `${RESOURCES}/staticwebapps/docs/deployments`)
    expect(body.items[0].phase).to.equal('Cancelled')
    const code = put({ ...APP, ownerCollection: 'functions', ownerName: 'calls.hello' }, 'Building')
    expect(await outcome(code, 'functionnamespaces/calls')).to.deep.equal([200, 'Cancelled'])
  })

  it('rejects later reports of an external build', async () => {
    const id = put({ ...APP, strategy: 'Reported', phase: 'Building' }, 'Building')
    expect(await outcome(id)).to.deep.equal([200, 'Cancelled'])
    const { status, body } = await server
      .ask('put', `${RESOURCES}/apps/shop/deployments/${id}`)
      .send({ phase: 'Succeeded', containerImage: 'site:1' })
    expect([status, body.code]).to.deep.equal([409, 'INVALID_STATE'])
  })

  it('returns 409 for a deployment of an image, which has no build', async () => {
    const { status, body } = await cancel(put({ ...APP, strategy: 'Image', image: 'site:1' }))
    expect([status, body.error]).to.deep.equal([409, 'The deployment has no build: there is nothing to cancel.'])
  })

  it('allows a new deployment of the same code', async () => {
    const deploy = () => server.ask('post', `${RESOURCES}/apps/shop/deploy`).send({ branch: 'again' })
    const first = await deploy()
    expect([first.status, first.body.phase], JSON.stringify(first.body)).to.deep.equal([202, 'Queued'])
    expect((await deploy()).body.id).to.equal(first.body.id)
    await cancel(first.body.id)
    const second = await deploy()
    expect(second.status).to.equal(202)
    expect(second.body.id).to.not.equal(first.body.id)
  })
})
