import { sourceRanges } from '../../core/cidr.ts'
import type { ConnectionEnd } from './connectionEnds.ts'
import type { SideVerdict } from './policy/verdict.ts'

/**
 * Names the field `allowedCidrs` of the resource as the deciding rule: callers who ask about an outside address know
 * that field, not the policy that the platform generates from it.
 */
export function byAllowedCidrs(ingress: SideVerdict, from: ConnectionEnd, to: ConnectionEnd): SideVerdict {
  const { rule } = ingress
  if (!('end' in from) || 'end' in to || rule === null) return ingress
  const [resource] = to.resources ?? []
  const spec = resource?.object.spec as { enableLoadBalancer?: boolean; allowedCidrs?: string } | undefined
  const ranges = sourceRanges(spec?.allowedCidrs)
  if (resource === undefined || spec?.enableLoadBalancer !== true || ranges === undefined) return ingress
  const isDefault = rule.kind === 'PlatformDefault'
  const isFromRanges = rule.kind === 'NetworkPolicy' && ranges.some((range) => rule.text.includes(`"${range}"`))
  if (!isDefault && !isFromRanges) return ingress
  const { name, namespace = null } = resource.object.metadata
  const text = `allowedCidrs of "${name}" of ${resource.kind.segment}: ${ranges.join(', ')}`
  const deciding = { kind: 'AllowedCidrs', namespace, name, ruleIndex: null, effect: rule.effect, text } as const
  const message = isDefault ? `allowedCidrs of "${name}" does not hold it.` : ingress.message
  return { ...ingress, rule: deciding, message }
}
