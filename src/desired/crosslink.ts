import { X509Certificate } from 'node:crypto'
import { GRANT_LIFETIME, ROTATION_LIMIT } from '../contracts/crosslink.ts'
import { timestamp } from '../core/clock.ts'
import { sha256 } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'

/** PEM texts of a certificate and of its key. */
export type Pair = { readonly certPem: string; readonly keyPem: string }

/** What signs for the sites of a boundary. */
export type Authority = Pair & {
  readonly version: number
  /** Trusted beside it while a rotation runs: the next one before it signs, the one before while sites may still show it. */
  readonly alsoTrusted?: string | undefined
  readonly rotation?:
    | { readonly step: 'Trusting'; readonly version: number; readonly startedAt: string; readonly next: Pair }
    | { readonly step: 'Reissued'; readonly version: number; readonly startedAt: string }
    | undefined
}

export type Move =
  | { readonly kind: 'stay'; readonly after?: number }
  /** `make`: a pair is needed first. */
  | { readonly kind: 'make'; readonly version: number; readonly with: (pair: Pair) => Authority }
  | { readonly kind: 'store'; readonly authority: Authority }

/**
 * The next of the three steps: trust both, let the new one sign, drop the old one once every site knows the new one or a day is
 * over. Each is stored before the next, so that whoever takes over goes on from there.
 */
export function nextMove(
  stored: Authority | undefined,
  { wanted, isKnown, now }: { wanted: number; isKnown: (version: number) => boolean; now: number },
): Move {
  if (stored === undefined) return { kind: 'make', version: wanted, with: (pair) => ({ ...pair, version: wanted }) }
  const { version, certPem, keyPem, rotation } = stored
  if (rotation === undefined) {
    if (version >= wanted) return { kind: 'stay' }
    const startedAt = timestamp(now)
    return {
      kind: 'make',
      version: version + 1,
      with: (next) => ({
        ...{ certPem, keyPem, version, alsoTrusted: next.certPem },
        rotation: { step: 'Trusting', version: version + 1, startedAt, next },
      }),
    }
  }
  const { startedAt } = rotation
  if (rotation.step === 'Trusting')
    return {
      kind: 'store',
      authority: {
        ...{ ...rotation.next, version: rotation.version, alsoTrusted: certPem },
        rotation: { step: 'Reissued', version: rotation.version, startedAt },
      },
    }
  const left = Date.parse(startedAt) + ROTATION_LIMIT - now
  if (left > 0 && !isKnown(version)) return { kind: 'stay', after: left }
  return { kind: 'store', authority: { certPem, keyPem, version } }
}

/** The newest authority, as reports have it. */
export function caReport({ certPem, version, rotation }: Authority) {
  const isComing = rotation?.step === 'Trusting'
  const certificatePem = isComing ? rotation.next.certPem : certPem
  const { fingerprint256, validFrom, validTo } = new X509Certificate(certificatePem)
  const utc = (text: string) => timestamp(Date.parse(text))
  return {
    ...{ version: isComing ? rotation.version : version, certificatePem, fingerprint: fingerprint256 },
    ...{ issuedUtc: utc(validFrom), expiresUtc: utc(validTo) },
  }
}

/** Where Skupper looks for what signs in a namespace; one that is there is taken as it is. */
export const SKUPPER_CA_SECRET = 'skupper-site-ca'

export function skupperAuthority({ certPem, keyPem, alsoTrusted = '' }: Authority): Record<string, string> {
  return { 'tls.crt': certPem, 'tls.key': keyPem, 'ca.crt': `${certPem}${alsoTrusted}` }
}

const skupper = (kind: string, namespace: string, name: string, spec: object): KubeObject => ({
  ...{ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name, namespace }, spec },
})

/** The hub: spokes link to it. */
export function hubSite(namespace: string): KubeObject {
  return skupper('Site', namespace, 'crosslink', { linkAccess: 'default' })
}

/** Good for one spoke. Named after what asked for it, so that a second attempt meets the first. */
export function accessGrant(namespace: string, requestedAt: string): KubeObject {
  const name = `crosslink-${sha256(requestedAt).slice(0, 10)}`
  return skupper('AccessGrant', namespace, name, {
    redemptionsAllowed: 1,
    expirationWindow: `${GRANT_LIFETIME / 60_000}m`,
  })
}

/** The namespace of a boundary is closed; routers of Skupper hear from each other and reach other clusters. */
export function routerPolicy(namespace: string): KubeObject {
  return {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'bxl-crosslink', namespace } },
    spec: {
      podSelector: { matchLabels: { 'skupper.io/component': 'router' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: ROUTER_PORTS.map((port) => ({ port, protocol: 'TCP' })) }],
      egress: [
        { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } }] },
        { ports: ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol })) },
      ],
    },
  }
}

/** Between routers, and from those that only begin connections. */
const ROUTER_PORTS = [55_671, 45_671]
