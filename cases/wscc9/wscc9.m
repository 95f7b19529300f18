function mpc = wscc9
% WSCC 9-bus system: network, dispatch and loads of Sauer and Pai (1998), chapter 7.
% Where each number is from: SOURCE.md.
mpc.version = '2';
mpc.baseMVA = 100;

%	bus_i	type	Pd	Qd	Gs	Bs	area	Vm	Va	baseKV	zone	Vmax	Vmin
mpc.bus = [
	1	3	0	0	0	0	1	1.04	0	16.5	1	1.1	0.9;
	2	2	0	0	0	0	1	1.025	0	18	1	1.1	0.9;
	3	2	0	0	0	0	1	1.025	0	13.8	1	1.1	0.9;
	4	1	0	0	0	0	1	1	0	230	1	1.1	0.9;
	5	1	125	50	0	0	1	1	0	230	1	1.1	0.9;
	6	1	90	30	0	0	1	1	0	230	1	1.1	0.9;
	7	1	0	0	0	0	1	1	0	230	1	1.1	0.9;
	8	1	100	35	0	0	1	1	0	230	1	1.1	0.9;
	9	1	0	0	0	0	1	1	0	230	1	1.1	0.9;
];

%	bus	Pg	Qg	Qmax	Qmin	Vg	mBase	status	Pmax	Pmin
mpc.gen = [
	1	0	0	9999	-9999	1.04	247.5	1	247.5	0;
	2	163	0	9999	-9999	1.025	192	1	192	0;
	3	85	0	9999	-9999	1.025	128	1	128	0;
];

%	fbus	tbus	r	x	b	rateA	rateB	rateC	ratio	angle	status	angmin	angmax
mpc.branch = [
	1	4	0	0.0576	0	0	0	0	1	0	1	-360	360;
	2	7	0	0.0625	0	0	0	0	1	0	1	-360	360;
	3	9	0	0.0586	0	0	0	0	1	0	1	-360	360;
	4	5	0.01	0.085	0.176	0	0	0	0	0	1	-360	360;
	4	6	0.017	0.092	0.158	0	0	0	0	0	1	-360	360;
	5	7	0.032	0.161	0.306	0	0	0	0	0	1	-360	360;
	6	9	0.039	0.17	0.358	0	0	0	0	0	1	-360	360;
	7	8	0.0085	0.072	0.149	0	0	0	0	0	1	-360	360;
	8	9	0.0119	0.1008	0.209	0	0	0	0	0	1	-360	360;
];
