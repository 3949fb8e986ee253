import { X509Certificate } from 'node:crypto'
import { CROSSLINK_NAME, GRANT_TTL_MS, ROTATION_TIMEOUT_MS } from '../contracts/crosslink.ts'
import { timestamp } from '../core/clock.ts'
import { sha256 } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { DNS_PORTS, outsidePeers } from './workload/network.ts'

/** A certificate and its key in PEM. */
export type CertificateKeyPair = { readonly certPem: string; readonly keyPem: string }

/** The certificate authority for the sites of a boundary. */
export type CertificateAuthority = CertificateKeyPair & {
  readonly version: number
  /** Also trusted during a rotation: the next certificate, then the previous one while sites may still use it. */
  readonly alsoTrusted?: string | undefined
  readonly rotation?:
    | {
        readonly step: 'Trusting'
        readonly version: number
        readonly startedAt: string
        readonly next: CertificateKeyPair
      }
    | { readonly step: 'Reissued'; readonly version: number; readonly startedAt: string }
    | undefined
}

export type RotationAction =
  | { readonly kind: 'stay'; readonly after?: number }
  /** `make`: create a key pair first. */
  | {
      readonly kind: 'make'
      readonly version: number
      readonly with: (pair: CertificateKeyPair) => CertificateAuthority
    }
  | { readonly kind: 'store'; readonly authority: CertificateAuthority }

/**
 * Returns the next of three steps: trust both, sign with the new authority, and drop the old one once every site knows
 * the new one or a day has passed. Each step is stored before the next, so that a new leader continues from it.
 */
export function nextRotationAction(
  stored: CertificateAuthority | undefined,
  { wanted, isKnown, now }: { wanted: number; isKnown: (version: number) => boolean; now: number },
): RotationAction {
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
  const left = Date.parse(startedAt) + ROTATION_TIMEOUT_MS - now
  if (left > 0 && !isKnown(version)) return { kind: 'stay', after: left }
  return { kind: 'store', authority: { certPem, keyPem, version } }
}

/** Returns the newest authority in the form of reports. */
export function caReport({ certPem, version, rotation }: CertificateAuthority) {
  const isComing = rotation?.step === 'Trusting'
  const certificatePem = isComing ? rotation.next.certPem : certPem
  const { fingerprint256, validFrom, validTo } = new X509Certificate(certificatePem)
  const utc = (text: string) => timestamp(Date.parse(text))
  return {
    ...{ version: isComing ? rotation.version : version, certificatePem, fingerprint: fingerprint256 },
    ...{ issuedUtc: utc(validFrom), expiresUtc: utc(validTo) },
  }
}

/** The Secret in which Skupper expects the signing authority; Skupper uses an existing one unchanged. */
export const SKUPPER_CA_SECRET = 'skupper-site-ca'

export function skupperAuthority({ certPem, keyPem, alsoTrusted = '' }: CertificateAuthority): Record<string, string> {
  return { 'tls.crt': certPem, 'tls.key': keyPem, 'ca.crt': `${certPem}${alsoTrusted}` }
}

const skupper = (kind: string, namespace: string, name: string, spec: object): KubeObject => ({
  ...{ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name, namespace }, spec },
})

/** The hub site, which spokes link to. */
export function hubSite(namespace: string): KubeObject {
  return skupper('Site', namespace, 'crosslink', { linkAccess: 'default' })
}

/** A grant for one spoke. The name is derived from the request, so that a second attempt finds the first. */
export function accessGrant(namespace: string, requestedAt: string): KubeObject {
  const name = `crosslink-${sha256(requestedAt).slice(0, 10)}`
  return skupper('AccessGrant', namespace, name, {
    redemptionsAllowed: 1,
    expirationWindow: `${GRANT_TTL_MS / 60_000}m`,
  })
}

/** Lets Skupper routers in the boundary's closed namespace connect to each other and to other clusters. */
export function routerPolicy(namespace: string): KubeObject {
  return {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: CROSSLINK_NAME, namespace } },
    spec: {
      podSelector: { matchLabels: { 'skupper.io/component': 'router' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: ROUTER_PORTS.map((port) => ({ port, protocol: 'TCP' })) }],
      egress: [{ to: outsidePeers() }, { ports: DNS_PORTS }],
    },
  }
}

/** Ports for links between routers, and from edge routers, which only open connections. */
const ROUTER_PORTS = [55_671, 45_671]
