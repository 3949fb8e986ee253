import { revisionOf } from '../../../src/contracts/revisions.ts'
import { DeploymentRecord } from '../../../src/crds/deployments.ts'
import { StaticWebApp } from '../../../src/crds/staticwebapps.ts'
import { controllerRevision } from '../../../src/kube/builtin.ts'
import type { Flow, Step } from '../flow.ts'
import type { World } from '../world.ts'

const NAME = 'docs'
const isReady = (world: World) => world.isReady(StaticWebApp, NAME)
const make = (spec: object): Step => ({
  user: 'makes a static web app',
  act: (world) => world.make(StaticWebApp, NAME, spec),
})
const serves = (image: string) => async (world: World) => {
  const status = (await world.find(StaticWebApp.resource, NAME))?.status as { servingImage?: string } | undefined
  return status?.servingImage === image && isReady(world)
}
const change = (user: string, spec: object, until: Step['until']): Step => ({
  user,
  act: (world) => world.change(StaticWebApp, NAME, spec),
  ...(until !== undefined && { until }),
})
const deployments = async (world: World) =>
  (await world.server.list(DeploymentRecord.resource)).items as unknown as Pick<DeploymentRecord, 'spec' | 'status'>[]

async function facts(world: World): Promise<object> {
  const revisions = (await world.server.list(controllerRevision)).items.flatMap((one) => revisionOf(one) ?? [])
  return {
    revisions: revisions.map(({ number, reason }) => `${number} ${reason}`).sort(),
    deployments: (await deployments(world))
      .map(({ spec, status }) => `${status?.number} ${status?.stage} ${spec.strategy} ${spec.branch} ${status?.image}`)
      .sort(),
  }
}

const common = { controllers: ['staticwebapp', 'deploymentrecord'], facts }

export const siteFlows: readonly Flow[] = [
  {
    ...common,
    title: 'a static web app is changed to another image and other settings',
    steps: [
      { ...make({ image: 'site:1', customDomains: ['docs.example.com'] }), until: isReady },
      change('asks for another image', { image: 'site:2', headers: { 'X-A': 'b' } }, serves('site:2')),
    ],
  },
  {
    ...common,
    title: 'a static web app of a repository is built once for each cause',
    steps: [
      {
        ...make({ repositoryUrl: 'https://git.example.com/team/docs' }),
        until: async (world) => (await deployments(world)).length === 1,
      },
      change('builds another branch', { branch: 'next' }, async (world) => (await deployments(world)).length === 2),
    ],
  },
  {
    ...common,
    title: 'a static web app is deleted with all its objects',
    given: [{ ...make({ image: 'site:1' }), until: isReady }],
    steps: [
      {
        user: 'deletes it',
        act: (world) => world.remove(StaticWebApp, NAME),
        until: async (world) => (await world.find(StaticWebApp.resource, NAME)) === undefined,
      },
    ],
  },
]
