import { z } from 'zod'
import { isCanonicalCidr } from '../../core/cidr.ts'
import { matching, ResourceName } from '../../crds/fields.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { DateTime, Uuid } from '../resources/dto.ts'

/** Records of the network view (records section 1, "Network view"). */

const LabelKey = matching(317, /^[A-Za-z0-9]([A-Za-z0-9_./-]*[A-Za-z0-9])?$/, 'must be the key of a label')
const LabelValue = matching(63, /^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$/, 'must be the value of a label')

export const NetworkCheckEndpointRequest = strictRecord('NetworkCheckEndpointRequest', {
  kind: z.enum(['Resource', 'Pods', 'Cidr', 'Host', 'Internet']),
  name: ResourceName.nullish().describe('Of a Resource'),
  labels: z
    .record(LabelKey, LabelValue)
    .refine((labels) => Object.keys(labels).length <= 50, 'has at most 50 labels')
    .nullish()
    .describe('Of Pods; none is every pod of the group'),
  resourceGroup: ResourceName.nullish().describe('Of a Resource and of Pods'),
  value: z.string().max(253).nullish().describe('Of a Cidr, such as 203.0.113.0/24, or the name of a Host'),
})
export type EndRequest = z.output<typeof NetworkCheckEndpointRequest>

export const NetworkCheckRequest = strictRecord('NetworkCheckRequest', {
  clusterId: Uuid.nullish().describe("That of from if absent, else that of to, else the platform's own"),
  from: NetworkCheckEndpointRequest,
  to: NetworkCheckEndpointRequest,
  port: z.int().min(1).max(65_535).describe('Port of the pods, which may differ from that of a Service'),
  protocol: z.enum(['Tcp', 'Udp', 'Sctp']),
})

export const NetworkRuleDto = namedRecord('NetworkRuleDto', {
  kind: z
    .enum(['NetworkPolicy', 'CiliumNetworkPolicy', 'CiliumClusterwideNetworkPolicy', 'AllowedCidrs', 'PlatformDefault'])
    .describe('PlatformDefault: a policy denies what no rule allows, and none does'),
  namespace: z.string().nullable(),
  name: z.string(),
  ruleIndex: z.int().nullable().describe('In the list of its direction, from 0'),
  effect: z.enum(['Allow', 'Deny']),
  text: z.string().describe('As written in the policy'),
})

const Verdict = z.enum(['Allowed', 'Denied', 'Unknown'])
export const NetworkSideDto = namedRecord('NetworkSideDto', {
  verdict: Verdict,
  isolated: z.boolean().describe('Whether a policy denies what no rule allows'),
  rule: NetworkRuleDto.nullable(),
  message: z.string(),
})

export const NetworkCheckResult = namedRecord('NetworkCheckResult', {
  allowed: z.boolean(),
  verdict: Verdict.describe('Unknown: not enough is known; the sides say why'),
  decidedBy: NetworkRuleDto.nullable().describe('Null if no policy restricts anything here'),
  egress: NetworkSideDto.describe('At from'),
  ingress: NetworkSideDto.describe('At to'),
  fromMatches: z.array(z.string()).describe('Pods, the first 100'),
  toMatches: z.array(z.string()),
  warnings: z.array(z.string()),
  clusterId: Uuid,
  evaluatedAt: DateTime,
})

/** The fields of each kind of end. Others would be ignored, so they are refused. */
const FIELDS_BY_KIND: Readonly<Record<EndRequest['kind'], readonly (keyof EndRequest)[]>> = {
  Resource: ['name', 'resourceGroup'],
  Pods: ['labels', 'resourceGroup'],
  Cidr: ['value'],
  Host: ['value'],
  Internet: [],
}
const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)+\.?$/i

/** Returns which fields of an end are missing, superfluous or malformed. @param at the field of the request */
export function faultsOf(end: EndRequest, at: 'from' | 'to'): { field: string; message: string }[] {
  const { kind, value } = end
  const wanted = FIELDS_BY_KIND[kind]
  const faults = (['name', 'labels', 'resourceGroup', 'value'] as const).flatMap((part) => {
    const isGiven = (end[part] ?? null) !== null
    if (isGiven === wanted.includes(part)) return []
    const message = isGiven ? `is not allowed for ${kind}` : `is required for ${kind}`
    return [{ field: `${at}.${part}`, message }]
  })
  const field = `${at}.value`
  if (kind === 'Cidr' && value != null && !isCanonicalCidr(value))
    faults.push({ field, message: 'must be a canonical network, such as 203.0.113.0/24 or 2001:db8::/32' })
  if (kind === 'Host' && value != null && !HOST.test(value))
    faults.push({ field, message: 'must be the name of a host, such as api.example.com' })
  return faults
}
