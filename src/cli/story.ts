import { RESOURCE_KINDS } from '../client/index.ts'
import { boundaryNamespace, groupNamespace } from '../core/names.ts'
import { literalsOf } from './collections.ts'
import type { Context } from './command.ts'
import { accessOfSession, openKubernetes } from './kubernetes.ts'
import { type Story, storyOf } from './kubernetesStory.ts'
import type { Prepared } from './requests.ts'
import { openSession } from './session.ts'

/** What the API server tells of it, if `setup` named one. */
export async function storyFor(
  { collection, target }: Prepared,
  name: string,
  context: Context,
): Promise<Story | undefined> {
  const access = accessOfSession(await openSession(context))
  const kind = kindOf({ collection, target })
  if (access === undefined || kind === undefined) return undefined
  const { boundaryId = '', resourceGroupName: group = '' } = target.values
  const { placement } = kind
  const inBoundary = placement === 'boundary' ? boundaryNamespace(boundaryId) : undefined
  const namespace = placement === 'group' ? groupNamespace(boundaryId, group) : inBoundary
  const place = { ...kind, namespace, name }
  return storyOf(place, await openKubernetes(access, context.signal))
}

/** The kind whose objects a request is about; undefined for what is no object. */
export const kindOf = ({ collection, target }: Pick<Prepared, 'collection' | 'target'>) =>
  RESOURCE_KINDS.find((each) => 'collection' in each && isIn(each.collection, collection.noun, target.route.path))

/** Whether a path is that of things in a collection: `blueprints/sources` is not `sources`. */
function isIn(words: string, noun: string, path: string): boolean {
  const [last, ...below] = words.split('/').reverse()
  return last === noun && below.every((word, at) => literalsOf(path)[at] === word.toLowerCase())
}
