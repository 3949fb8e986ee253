import type { KubeObject } from '../../core/object.ts'

type NamespaceStatus = { conditions?: readonly { type: string; status: string; message?: string }[] }

const SHOWN_CONDITIONS = [
  'NamespaceContentRemaining',
  'NamespaceFinalizersRemaining',
  'NamespaceDeletionContentFailure',
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
]

/**
 * Describes what a terminating namespace still contains, or why its deletion is blocked, such as an API group that does
 * not answer; empty if nothing is reported.
 */
export function describeRemainingContent(terminating: KubeObject | undefined): string {
  const { conditions = [] } = (terminating?.status ?? {}) as NamespaceStatus
  const messages = conditions
    .filter(({ type, status }) => status === 'True' && SHOWN_CONDITIONS.includes(type))
    .map(({ message = '' }) => message.trim().replace(/\.$/, ''))
    .filter((message) => message !== '')
  return messages.length === 0 ? '' : ` (${messages.join('; ')})`
}
