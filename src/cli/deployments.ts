import { type Operation, pathOf } from '../client/index.ts'
import type { DeploymentPhase } from '../contracts/deployments.ts'
import { usage } from './failure.ts'
import { listSubresourceRoutes, type PreparedRequest, type SubresourceRoute } from './requests.ts'

export type Deployment = { id: string; phase: DeploymentPhase; lastMessage: string; source: string | null }

/** Finds a deployment route of a resource, or of its parent: functions use that of their namespace. */
export function deploymentRoute(
  { target }: Pick<PreparedRequest, 'target'>,
  method: Operation['method'],
  wanted: string,
): SubresourceRoute | undefined {
  const parentTarget = {
    ...target,
    route: { ...target.route, path: target.route.path.split('/').slice(0, -2).join('/') },
  }
  return [target, parentTarget]
    .flatMap((each) => listSubresourceRoutes(each, method))
    .find(({ words }) => words === wanted)
}

/** Returns the deployments, newest first. @throws CommandFailure (usage) if the kind has none */
export async function deploymentsOf(reading: PreparedRequest): Promise<Deployment[]> {
  const list = deploymentRoute(reading, 'GET', 'deployments')
  if (list === undefined) throw usage(`${reading.collection.noun} are not deployed.`)
  const path = pathOf(list.operation.path, reading.target.values, { pageSize: 100 })
  const { text } = await reading.client.request({ method: 'GET', path })
  return (JSON.parse(text) as { items: Deployment[] }).items
}
