import type { KubeObject } from '../../core/object.ts'

type NamespaceStatus = { conditions?: readonly { type: string; status: string; message?: string }[] }

const SHOWN = ['NamespaceContentRemaining', 'NamespaceFinalizersRemaining', 'NamespaceDeletionContentFailure']

/** What a terminating namespace still contains, according to the namespace controller; empty if it reports nothing. */
export function contentOf(terminating: KubeObject | undefined): string {
  const { conditions = [] } = (terminating?.status ?? {}) as NamespaceStatus
  const messages = conditions
    .filter(({ type, status }) => status === 'True' && SHOWN.includes(type))
    .map(({ message = '' }) => message.trim().replace(/\.$/, ''))
    .filter((message) => message !== '')
  return messages.length === 0 ? '' : ` (${messages.join('; ')})`
}
