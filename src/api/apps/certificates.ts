import { z } from 'zod'
import { CERTIFICATE_STATES } from '../../contracts/certificates.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { ok } from '../http/answer.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime, DnsRecordDto } from '../resources/dto.ts'
import { clusterInfo, findResource } from '../resources/find.ts'
import { certificateStatusOf } from '../resources/hosts.ts'

const Status = z.enum(CERTIFICATE_STATES)
const CertificateStatusDto = namedRecord('CertificateStatusDto', {
  status: Status.describe('The worst of the hosts'),
  hosts: z.array(
    namedRecord('CertificateHostDto', {
      host: z.string(),
      status: Status,
      issuer: z.string().nullable(),
      notBefore: DateTime.nullable(),
      notAfter: DateTime.nullable(),
      renewsAt: DateTime.nullable(),
      lastError: z.string().nullable(),
      requiredRecords: z.array(DnsRecordDto).describe('What the DNS has to say so that the host leads here'),
    }),
  ),
  checkedAt: DateTime,
})

/** Reports the certificates of an app's custom domains. The platform's own certificate covers its generated host. */
export const certificateRoute: RouteDraft = route('GET', '{RG}/apps/{appName}/certificate-status', {
  auth: action('apps/read'),
  summary: 'Certificates of its custom domains',
  reply: CertificateStatusDto,
  handler: async (context) => {
    const { object } = await findResource(PlatformApp, context, 'appName')
    const { spec, status } = object
    const own = status?.publicHost ?? clusterInfo(context.services, spec.clusterId).domain
    const known = new Map((status?.certificates ?? []).map((one) => [one.host, one]))
    const hosts = (spec.isPublic ? spec.customDomains : []).map((host) => {
      const { status: state = 'NotRequested', issuer, notBefore, notAfter, renewsAt, lastError } = known.get(host) ?? {}
      return {
        ...{ host, status: state, issuer: issuer ?? null, notBefore: notBefore ?? null, notAfter: notAfter ?? null },
        ...{ renewsAt: renewsAt ?? null, lastError: lastError ?? null },
        requiredRecords: [{ type: 'CNAME', name: host, value: own }],
      }
    })
    const worst = certificateStatusOf({ object }) ?? 'NotRequested'
    return ok({ status: worst, hosts, checkedAt: timestamp(context.services.clock.now()) })
  },
})
