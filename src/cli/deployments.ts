import { type Operation, pathOf } from '../client/index.ts'
import type { DeploymentPhase } from '../contracts/deployments.ts'
import { usage } from './failure.ts'
import { type Prepared, type RouteBelow, routesBelow } from './requests.ts'

export type Deployment = { id: string; phase: DeploymentPhase; lastMessage: string; source: string | null }

/** Finds a deployment route of a resource, or of its parent: functions use that of their namespace. */
export function deploymentRoute(
  { target }: Pick<Prepared, 'target'>,
  method: Operation['method'],
  wanted: string,
): RouteBelow | undefined {
  const around = { ...target, route: { ...target.route, path: target.route.path.split('/').slice(0, -2).join('/') } }
  return [target, around].flatMap((each) => routesBelow(each, method)).find(({ words }) => words === wanted)
}

/** Returns the deployments, newest first. @throws CommandFailure (usage) if the kind has none */
export async function deploymentsOf(reading: Prepared): Promise<Deployment[]> {
  const list = deploymentRoute(reading, 'GET', 'deployments')
  if (list === undefined) throw usage(`${reading.collection.noun} are not deployed.`)
  const path = pathOf(list.operation.path, reading.target.values, { pageSize: 100 })
  const { text } = await reading.client.request({ method: 'GET', path })
  return (JSON.parse(text) as { items: Deployment[] }).items
}
