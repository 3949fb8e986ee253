import { isFinalPhase } from '../../contracts/deployments.ts'
import type { Command } from '../command.ts'
import { deploymentRoute, deploymentsOf } from '../deployments.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import {
  KIND_HELP,
  listSubresourceRoutes,
  NAMED_RESOURCE,
  PATH_OPTIONS,
  type PreparedRequest,
  prepareRequest,
  resourceInput,
  sendToSubresource,
} from '../requests.ts'
import { OUTPUT, show } from '../session.ts'

/** Cancels the resource itself if it can be, such as a job; otherwise its deployment. */
export const cancel: Command = {
  name: 'cancel',
  summary: 'Cancel a job, or the deployment of an app, a site or a function',
  positionals: [...NAMED_RESOURCE, { name: 'DEPLOYMENT', isOptional: true }],
  options: [...PATH_OPTIONS, OUTPUT],
  details: `${KIND_HELP}\nDEPLOYMENT is the id of one; default: the newest that has not ended. What is served stays: freehold cancel app shop`,
  async run(input, context) {
    const [, , givenId] = input.positionals
    const prepared = await prepareRequest('get', resourceInput(input), context)
    const { noun } = prepared.collection
    const cancelRoute = listSubresourceRoutes(prepared.target, 'POST').find(({ words }) => words === 'cancel')
    if (cancelRoute !== undefined && givenId !== undefined)
      throw usage(`${noun} have no deployments: leave "${givenId}" out.`)
    if (cancelRoute !== undefined) return show(await sendToSubresource(prepared, cancelRoute), input, context)
    const route = deploymentRoute(prepared, 'DELETE', 'deployments/{deploymentId}')
    if (route === undefined) throw usage(`${noun} have nothing that can be cancelled.`)
    const deploymentId = givenId ?? (await findNewestOpen(prepared, input.positionals.join(' ')))
    show(await sendToSubresource(prepared, route, { values: { deploymentId } }), input, context)
  },
}

/** @throws CommandFailure (refused) if all have ended */
async function findNewestOpen(prepared: PreparedRequest, title: string): Promise<string> {
  const { nameParameter = '' } = prepared.target.route
  // The list of a function namespace has the deployments of all its functions.
  const isOfResource = ({ source }: { source: string | null }) =>
    prepared.collection.noun !== 'functions' || source === `functions/${prepared.target.values[nameParameter]}`
  const found = (await deploymentsOf(prepared)).find((one) => !isFinalPhase(one.phase) && isOfResource(one))
  if (found === undefined) throw new CommandFailure(EXIT.refused, `No deployment of ${title} waits or is being built.`)
  return found.id
}
