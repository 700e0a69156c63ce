/** mcpx in front of UPSTREAMS.everything is that server, for every client and feature. */
import { matrix } from './matrix.ts';
import { UPSTREAMS } from './upstreams.ts';

matrix(UPSTREAMS.everything);
